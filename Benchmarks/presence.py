#!/usr/bin/env python3
"""Measures what presence costs a server, or a cluster: memory and processor time with many connections.

    Benchmarks/presence.py --reprise FILE [--connections 10000] [--seconds 20] [--changes 100] [--settle 32] [--modes off,on,tenth,all]
                           [--log [--gateways 2] [--nodes 3] [--nats-server FILE]]

FILE is a release build of `reprise`. Each connection is one of a user of its own; fifty users share a channel. For each of
  off      a server without --presence
  on       with it, and nobody looks
  tenth    every tenth connection watches its channel of fifty
  all      every connection does
it prints the server's resident memory and its processor time: while nothing happens, and while so many devices a second become idle or are used
again (not where presence is off). The load runs on the same machine, in this process.

--log: the same with gateways before nodes of nats-server. Half of a channel's users connect to one gateway, half to the next one, and
each watches those of the other half. Prints as well how long it takes from a change to the frame at the other gateway, and how many of
the frames came: a change within about two seconds of the same user's last one may replace it, so keep connections / changes above 4.
"""
import argparse
import asyncio
import base64
import concurrent.futures
import contextlib
import hashlib
import hmac
import http.client
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from cluster_load import Failed, Spent, spread

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
loader = importlib.machinery.SourceFileLoader("chaos", os.path.join(ROOT, "scripts/chaos"))
chaos = importlib.util.module_from_spec(importlib.util.spec_from_loader("chaos", loader))
loader.exec_module(chaos)

SECRET = hashlib.sha256(b"presence").digest()
MEMBERS = 50
ADMIN = "root"
STATE = re.compile(rb'"user":"user-(\d+)","state":"(online|idle)"')


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(user):
    head = part(b'{"alg":"HS256","typ":"JWT"}')
    claims = part(json.dumps({"sub": user, "aud": "reprise", "exp": int(time.time()) + 3600,
                              "scope": "admin" if user == ADMIN else ""}).encode())
    return f"{head}.{claims}.{part(hmac.new(SECRET, f'{head}.{claims}'.encode(), 'sha256').digest())}"


def frame(text):
    """A client's frame, masked with zeros."""
    data = text.encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + len(data).to_bytes(2, "big")
    return b"\x81" + size + bytes(4) + data


class Device(asyncio.Protocol):
    """Upgrades and says hello; counts what it is told of others, and how long after it was said."""
    told = 0
    answered = 0
    lost = 0
    # By user: when a change was said, and its state.
    changes = {}
    delays = []

    def __init__(self, number):
        self.number, self.rest, self.seen = number, b"", {}
        self.welcomed = asyncio.get_running_loop().create_future()
        self.is_open = False

    def connection_made(self, transport):
        self.transport = transport
        transport.write(b"GET /v1/connect HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: reprise.v1\r\n"
                        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")

    def data_received(self, data):
        if not self.is_open:
            assert data.startswith(b"HTTP/1.1 101"), data
            self.is_open = True
            user = f"user-{self.number}"
            self.send({"type": "hello", "version": 1, "device": user, "client": "bench", "token": token(user)})
        if not self.welcomed.done() and b'"welcome"' in data:
            self.welcomed.set_result(None)
        answers = data.count(b'"type":"presence","channelId"')
        Device.answered += answers
        Device.told += data.count(b'"type":"presence"') - answers
        if Device.changes:
            self.time(self.rest + data)

    def time(self, text):
        """The rest may hold the beginning of a user's state."""
        end = max(0, len(text) - 100)
        for match in STATE.finditer(text):
            user, end = int(match[1]), max(end, match.end())
            said, state = Device.changes.get(user, (None, b""))
            if state == match[2] and self.seen.get(user) != said:
                self.seen[user] = said
                Device.delays.append(time.monotonic() - said)
        self.rest = text[end:]

    def connection_lost(self, error):
        Device.lost += 1
        if not self.welcomed.done():
            self.welcomed.set_exception(RuntimeError(f"connection {self.number} was lost: {error}"))

    def send(self, value):
        self.transport.write(frame(json.dumps(value)))


class Alone:
    """One server, whose accounts are written beside it while it does not run."""

    def __init__(self, call, folder):
        self.call, self.folder = call, folder
        with self.running():
            pass
        db = sqlite3.connect(f"{folder}/data/accounts.sqlite")
        for channel, users in rooms(call.connections):
            db.execute("INSERT INTO channels (name, visibility, history, made, members) VALUES (?, 'private', 'all', 0, ?)", (channel, len(users)))
            db.executemany("INSERT INTO members (channel, user, role, joined, since) VALUES (?, ?, 'member', 0, 0)",
                           [(channel, f"user-{user}") for user in users])
        db.commit()
        db.close()

    @contextlib.contextmanager
    def running(self, *options):
        process = subprocess.Popen(
            [self.call.reprise, "serve", "--port", "0", "--data", f"{self.folder}/data", "--keys", f"{self.folder}/key", "--json",
             "--connections-per-address", "20000", *options], stdout=subprocess.PIPE)
        try:
            self.port = json.loads(process.stdout.readline())["port"]
            yield {"server": [process.pid]}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    def port_of(self, number):
        return self.port

    def watch(self, number):
        return {"channelId": f"room-{number // MEMBERS}"}

    def close(self):
        pass


class Cluster(chaos.Cluster):
    """Gateways that know who is who; each room is at two of them."""

    def __init__(self, call, folder):
        self.call = call
        self.flags = ["--keys", f"{folder}/key", "--connections-per-address", "20000", "--publishes-per-second", "100000"]
        super().__init__(folder, call)
        try:
            with self.running():
                self.fill()
        except BaseException:
            self.kill()
            raise

    def process(self, name, command):
        return super().process(name, command + self.flags if "serve" in command else command)

    def open(self, name, url, timeout):
        return super().open(name, urllib.request.Request(url, headers={"Authorization": f"Bearer {token(ADMIN)}"}), timeout)

    @contextlib.contextmanager
    def running(self, *options):
        commands = [gateway.command for gateway in self.gateways]
        try:
            for gateway in self.gateways:
                gateway.command = gateway.command + list(options)
            if not self.come_up(60):
                raise Failed(f"the cluster is not ready within 60 s: {self.gateways[0].last_words()}")
            yield {"gateways": [one.child.pid for one in self.gateways], "nodes": [one.child.pid for one in self.nodes]}
        finally:
            for gateway, command in zip(self.gateways, commands):
                gateway.command = command
                if gateway.is_running():
                    gateway.terminate(30)

    def fill(self):
        """Several requests at a time, at all gateways."""
        threads = threading.local()

        def put(index, path, body):
            if not hasattr(threads, "link"):
                threads.link = http.client.HTTPConnection("127.0.0.1", self.ports[index % len(self.ports)], timeout=60)
            threads.link.request("PUT", f"/v1/channels/{path}", json.dumps(body),
                                 {"Authorization": f"Bearer {token(ADMIN)}", "Content-Type": "application/json"})
            answer = threads.link.getresponse()
            text = answer.read()
            if answer.status not in (200, 201):
                raise Failed(f"PUT {path} was answered {answer.status}: {text.decode()}")

        def room(index, channel, users):
            put(index, channel, {"visibility": "private"})
            for user in users:
                put(index, f"{channel}/members/user-{user}", {"role": "member"})

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for done in [pool.submit(room, index, *one) for index, one in enumerate(rooms(self.call.connections))]:
                done.result()

    def port_of(self, number):
        return self.ports[(number // MEMBERS + number % MEMBERS * 2 // MEMBERS) % len(self.ports)]

    def watch(self, number):
        first = number // MEMBERS * MEMBERS
        others = first + MEMBERS // 2 if number % MEMBERS < MEMBERS // 2 else first
        return {"channelId": f"room-{number // MEMBERS}",
                "users": [f"user-{user}" for user in range(others, min(others + MEMBERS // 2, self.call.connections))]}

    def close(self):
        self.kill()


def rooms(count):
    """Channels, and the numbers of their users."""
    return [(f"room-{start // MEMBERS}", range(start, min(start + MEMBERS, count))) for start in range(0, count, MEMBERS)]


def memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024


def megabytes(pids):
    return " ".join(f"{memory(pid):.1f}" for pid in next(iter(pids.values())))


async def connect(place, count):
    loop = asyncio.get_running_loop()
    devices = []
    for start in range(0, count, 200):
        new = [Device(number) for number in range(start, min(start + 200, count))]
        await asyncio.gather(*(loop.create_connection(lambda device=device: device, "127.0.0.1", place.port_of(device.number)) for device in new))
        await asyncio.gather(*(device.welcomed for device in new))
        devices += new
    return devices


async def spent(pids, seconds, work=None):
    """The processor time of each process as a share of one core, as text."""
    begun, at = {pid: Spent.cpu(pid) for some in pids.values() for pid in some}, time.monotonic()
    if work:
        await work(at + seconds)
    await asyncio.sleep(max(0, at + seconds - time.monotonic()))
    taken = time.monotonic() - at
    return ", ".join(f"{name} {' '.join(f'{100 * (Spent.cpu(pid) - begun[pid]) / taken:.1f}' for pid in some)} %" for name, some in pids.items())


async def measure(call, place, mode):
    with place.running(*([] if mode == "off" else ["--presence"])) as pids:
        served = next(iter(pids.values()))
        empty, before = megabytes(pids), sum(map(memory, served))
        devices = await connect(place, call.connections)
        looking = devices if mode == "all" else devices[::10] if mode == "tenth" else []
        Device.told = Device.answered = Device.lost = 0
        Device.changes, Device.delays = {}, []
        for start in range(0, len(looking), 200):
            for device in looking[start:start + 200]:
                device.send({"type": "watch", "channels": [place.watch(device.number)]})
            await asyncio.sleep(0.05)
        end = time.monotonic() + 60
        while Device.answered < len(looking):
            if time.monotonic() > end:
                raise Failed(f"{Device.answered} of {len(looking)} watches were answered within 60 s")
            await asyncio.sleep(0.1)
        await asyncio.sleep(call.settle)
        answered, each = Device.answered, (sum(map(memory, served)) - before) * 1024 / len(devices)
        line = (f"{mode:6}  {empty} MB empty, {megabytes(pids)} MB, {each:.2f} KB a connection; "
                f"nothing happens: {await spent(pids, call.seconds)}")
        if mode == "off":
            print(line, flush=True)
            return
        watchers = {}
        for device in looking:
            for user in place.watch(device.number).get("users", []):
                watchers[user] = watchers.get(user, 0) + 1
        wanted = 0

        async def change(end):
            nonlocal wanted
            number, is_idle, begun, count = 0, True, time.monotonic(), 0
            while time.monotonic() < end:
                while count < (time.monotonic() - begun) * call.changes:
                    device, state = devices[number % len(devices)], "idle" if is_idle else "online"
                    device.send({"type": "presence", "state": state})
                    count += 1
                    if watchers:
                        Device.changes[device.number] = (time.monotonic(), state.encode())
                        wanted += watchers.get(f"user-{device.number}", 0)
                    number += 97
                    if number % (97 * len(devices)) == 0:
                        is_idle = not is_idle
                await asyncio.sleep(0.1)

        told = Device.told
        busy = await spent(pids, call.seconds, change)
        line += (f"; {call.changes} changes a second: {busy}, {(Device.told - told) / call.seconds:.0f} frames a second to {len(looking)} lookers "
                 f"({answered} answers), {megabytes(pids)} MB")
        if watchers:
            await asyncio.sleep(5)
            if not Device.delays:
                raise Failed("no change was told at another gateway")
            half, most = spread(Device.delays, 0.5, 0.99)
            line += f"; at the other gateway after {half * 1e3:.0f} ms (median), {most * 1e3:.0f} (p99), {len(Device.delays):,} of {wanted:,} told"
        print(line, flush=True)
        if Device.lost:
            raise Failed(f"{Device.lost} connections were lost")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reprise", required=True)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--settle", type=int, default=32, help="a heartbeat's interval, and when users were seen last is written")
    parser.add_argument("--modes", default="off,on,tenth,all")
    parser.add_argument("--log", action="store_true", help="a cluster")
    parser.add_argument("--gateways", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--nats-server", default=os.path.join(ROOT, ".build/python/bin/nats-server"))
    call = parser.parse_args()
    if call.log and call.gateways < 2:
        parser.error("--log needs two gateways")
    folder, place = tempfile.mkdtemp(prefix="reprise-presence-"), None
    try:
        with open(f"{folder}/key", "wb") as file:
            file.write(base64.b64encode(SECRET))
        os.chmod(f"{folder}/key", 0o600)
        place = (Cluster if call.log else Alone)(call, folder)
        for mode in call.modes.split(","):
            asyncio.run(measure(call, place, mode))
    except (Failed, OSError, http.client.HTTPException) as error:
        print(f"presence.py: {error}", file=sys.stderr)
        return 2
    finally:
        if place is not None:
            place.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
