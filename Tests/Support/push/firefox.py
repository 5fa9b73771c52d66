"""A headless Firefox with a profile of its own, driven by WebDriver BiDi."""
import asyncio
import itertools
import json
import os
import re
import shutil
import signal
import tempfile

from websockets.asyncio.client import connect


class Firefox:
    """Nothing but loopback is reachable for it; it ends with `end()`."""

    async def start(self, program, push):
        self.profile = tempfile.mkdtemp(prefix="reprise-firefox-")
        with open(os.path.join(self.profile, "user.js"), "w") as file:
            for name, value in self._preferences(push).items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.process = await asyncio.create_subprocess_exec(
            program, "--headless", "--no-remote", "--profile", self.profile,
            "--remote-debugging-port", "0", "about:blank", start_new_session=True,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
        async with asyncio.timeout(60):
            address = await self._address()
            self.socket = await connect(address + "/session", max_size=None)
        self.drain = asyncio.create_task(self._drain())
        self.numbers = itertools.count(1)
        await self.call("session.new", capabilities={})
        tree = await self.call("browsingContext.getTree")
        self.page = tree["contexts"][0]["context"]

    @staticmethod
    def _preferences(push):
        return {
            "dom.push.serverURL": push,
            "dom.push.testing.allowInsecureServerURL": True,
            "dom.push.connection.enabled": True,
            "dom.push.retryBaseInterval": 200,
            "permissions.default.desktop-notification": 1,
            # Its own banners: here nobody may be listening for the desktop's, and a banner that failed is taken out.
            "alerts.useSystemBackend": False,
            # What automation sets of itself would end the connection for pushes.
            "remote.prefs.recommended": False,
            "network.proxy.type": 1,
            "network.proxy.http": "127.0.0.1",
            "network.proxy.http_port": 9,
            "network.proxy.ssl": "127.0.0.1",
            "network.proxy.ssl_port": 9,
            "network.captive-portal-service.enabled": False,
            "network.connectivity-service.enabled": False,
            "browser.shell.checkDefaultBrowser": False,
            "browser.startup.homepage_override.mstone": "ignore",
            "browser.safebrowsing.update.enabled": False,
            "datareporting.policy.dataSubmissionEnabled": False,
            "toolkit.telemetry.enabled": False,
            "app.update.enabled": False,
            "app.normandy.enabled": False,
            "services.settings.server": "data:,",
        }

    async def _address(self):
        while line := await self.process.stderr.readline():
            if found := re.search(rb"BiDi listening on (ws://[^\s]+)", line):
                return found[1].decode()
        raise SystemExit("push-firefox: Firefox ended before it could be driven")

    async def _drain(self):
        while await self.process.stderr.readline():
            pass

    async def call(self, method, **params):
        number = next(self.numbers)
        await self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        async with asyncio.timeout(30):
            while True:
                answer = json.loads(await self.socket.recv())
                if answer.get("id") == number:
                    break
        if answer["type"] != "success":
            raise RuntimeError(f"{method}: {answer.get('message')}")
        return answer["result"]

    async def go(self, url):
        await self.call("browsingContext.navigate", context=self.page, url=url, wait="complete")

    async def evaluate(self, script):
        """The text that a script gives, in the page, as if a person had clicked there."""
        answer = await self.call(
            "script.evaluate", expression=script, target={"context": self.page}, awaitPromise=True,
            userActivation=True)
        if answer["type"] != "success":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    async def end(self):
        if process := getattr(self, "process", None):
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    await asyncio.wait_for(process.wait(), 10)
                except TimeoutError:
                    os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(self.profile, ignore_errors=True)
