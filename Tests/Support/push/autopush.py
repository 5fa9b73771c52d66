"""A stand-in for autopush, the push service of Firefox: for one browser, on this machine, nothing on a disk.

| rule | its source |
|---|---|
| frames are JSON texts, the subprotocol is push-notification | Firefox, dom/push/PushServiceWebSocket.sys.mjs, _beginWSSetup |
| hello is answered with uaid and use_webpush; a uaid that is known is kept, another makes Firefox drop what it has subscribed | the same, _sendHello and _handleHelloReply |
| register has channelID and key (base64url, padded), and is answered with status 200, channelID, pushEndpoint | the same, register and _handleRegisterReply |
| unregister is answered with status 200 and channelID | the same, unregister and _handleUnregisterReply |
| notification has channelID, version, data (base64url) and headers.encoding; one that was not acknowledged comes again | the same, _handleDataUpdate |
| ack names version and code: 100 delivered, 101 cannot be opened, 102 not delivered | the same, _sendAck |
| {} is answered with {} | the same, _wsOnMessageAvailable |
| a POST needs TTL; 201 and Location; 404 for no endpoint, 410 for one that has ended; 413 | RFC 8030 §5, §5.2, §7.2; autopush-rs, "HTTP Endpoints" and "Error Codes" |
| a message whose TTL is over is not delivered; one with a topic takes the place of one that waits | RFC 8030 §5.2, §5.4 |
| `vapid` has t and k; aud, exp within 24 hours, sub; the key that was subscribed with | RFC 8292 §2, §3, §4.2 |
"""
import base64
import json
import time
import uuid

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Refusal(Exception):
    pass


class Autopush:
    def __init__(self, origin):
        self.origin = origin  # of the endpoints
        self.uaid = None
        self.channels = {}  # by channelID: the key that it was subscribed with, and whether it has ended
        self.waiting = []  # notifications that were not acknowledged
        self.acknowledged = []  # (version, code)
        self.hellos = 0
        self.socket = None
        self.isOpen = True

    async def listen(self):
        self.server = await serve(self._talk, "127.0.0.1", 0, subprotocols=["push-notification"])
        return self.server.sockets[0].getsockname()[1]

    async def drop(self):
        """Cuts the connection, and takes no other until `isOpen` is set."""
        self.isOpen = False
        if self.socket:
            await self.socket.close()

    # --- The browser's side.

    async def _talk(self, socket):
        if not self.isOpen:
            return
        self.socket = socket
        try:
            async for text in socket:
                await self._hear(json.loads(text))
        except ConnectionClosed:
            pass
        finally:
            if self.socket is socket:
                self.socket = None

    async def _hear(self, frame):
        kind = frame.get("messageType")
        if kind is None:
            await self._say({})
        elif kind == "hello":
            self.hellos += 1
            if self.uaid is None or frame.get("uaid") != self.uaid:
                self.uaid, self.waiting = uuid.uuid4().hex, []
            await self._say({
                "messageType": "hello", "status": 200, "uaid": self.uaid, "use_webpush": True,
                "broadcasts": {}})
            for message in list(self.waiting):
                await self._deliver(message)
        elif kind == "register":
            channel = frame["channelID"]
            self.channels[channel] = {"key": frame.get("key"), "ended": False}
            await self._say({
                "messageType": "register", "status": 200, "channelID": channel,
                "pushEndpoint": f"{self.origin}/wpush/v2/{channel}"})
        elif kind == "unregister":
            if frame["channelID"] in self.channels:
                self.channels[frame["channelID"]]["ended"] = True
            await self._say(
                {"messageType": "unregister", "status": 200, "channelID": frame["channelID"]})
        elif kind == "ack":
            for update in frame["updates"]:
                self.acknowledged.append((update["version"], update.get("code")))
                self.waiting = [one for one in self.waiting if one["version"] != update["version"]]

    async def _say(self, frame):
        if self.socket:
            await self.socket.send(json.dumps(frame))

    async def _deliver(self, message):
        if message["until"] < time.time():
            self.waiting.remove(message)
            return
        await self._say({
            "messageType": "notification", "channelID": message["channel"],
            "version": message["version"], "data": encoded(message["body"]),
            "headers": {"encoding": "aes128gcm"}})

    # --- The server's side.

    async def post(self, path, headers, body):
        """What a POST is answered with: a status, headers and why."""
        channel = self.channels.get(path.rsplit("/", 1)[-1])
        if not path.startswith("/wpush/v2/") or channel is None:
            return 404, {}, "no such endpoint"
        if channel["ended"]:
            return 410, {}, "the subscription has ended"
        if not headers.get("ttl", "").isdigit():
            return 400, {}, "TTL"
        if headers.get("content-encoding") != "aes128gcm":
            return 400, {}, "Content-Encoding"
        if len(body) > 4096:
            return 413, {}, "too large"
        try:
            self._identify(headers.get("authorization", ""), channel["key"])
        except (Refusal, ValueError, KeyError, InvalidSignature) as refusal:
            return 403, {}, f"VAPID: {refusal!r}"
        message = {
            "channel": path.rsplit("/", 1)[-1], "version": uuid.uuid4().hex, "body": body,
            "until": time.time() + int(headers["ttl"]) + 1, "topic": headers.get("topic")}
        if message["topic"]:
            self.waiting = [one for one in self.waiting if one["topic"] != message["topic"]]
        self.waiting.append(message)
        await self._deliver(message)
        return 201, {"Location": f"{self.origin}/m/{message['version']}", "TTL": headers["ttl"]}, ""

    def _identify(self, field, subscribed):
        """The signature, the claims, and that it is the key that was subscribed with."""
        scheme, _, rest = field.partition(" ")
        parts = dict(part.strip().split("=", 1) for part in rest.split(","))
        if scheme != "vapid":
            raise Refusal("no vapid")
        signed, _, signature = parts["t"].rpartition(".")
        raw = decoded(signature)
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(parts["k"]))
        key.verify(
            utils.encode_dss_signature(
                int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")),
            signed.encode(), ec.ECDSA(hashes.SHA256()))
        claims = json.loads(decoded(signed.split(".")[1]))
        if claims["aud"] != self.origin or not claims["sub"]:
            raise Refusal(f"aud is {claims['aud']}")
        if not time.time() < claims["exp"] <= time.time() + 86_400:
            raise Refusal("exp")
        if subscribed and decoded(subscribed.rstrip("=")) != decoded(parts["k"]):
            raise Refusal("another key than the one that was subscribed with")
