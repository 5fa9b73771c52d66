#!/usr/bin/env python3
"""Measures what presence costs a server: its memory and processor time with many connections.

    Benchmarks/presence.py --reprise FILE [--connections 10000] [--seconds 20] [--changes 100]

FILE is a release build of `reprise`. Each connection is one of a user of its own; fifty users share a channel. For each of
  off      a server without --presence
  on       with it, and nobody looks
  tenth    every tenth connection watches its channel of fifty
  all      every connection does
it prints the server's resident memory and its processor time: while nothing happens, and while so many devices a second become idle or are used
again (not where presence is off). The load runs on the same machine, in this process.
"""
import argparse
import asyncio
import base64
import hashlib
import hmac
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SECRET = hashlib.sha256(b"presence").digest()
MEMBERS = 50


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(user):
    head = part(b'{"alg":"HS256","typ":"JWT"}')
    claims = part(json.dumps({"sub": user, "aud": "reprise", "exp": int(time.time()) + 3600}).encode())
    return f"{head}.{claims}.{part(hmac.new(SECRET, f'{head}.{claims}'.encode(), 'sha256').digest())}"


def frame(text):
    """A client's frame, masked with zeros."""
    data = text.encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + len(data).to_bytes(2, "big")
    return b"\x81" + size + bytes(4) + data


class Device(asyncio.Protocol):
    """Upgrades and says hello; counts what it is told of others."""
    told = 0
    answered = 0
    lost = 0

    def __init__(self, number):
        self.number = number
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

    def connection_lost(self, error):
        Device.lost += 1
        if not self.welcomed.done():
            self.welcomed.set_exception(RuntimeError(f"connection {self.number} was lost: {error}"))

    def send(self, value):
        self.transport.write(frame(json.dumps(value)))


class Server:
    def __init__(self, call, folder, *options):
        self.process = subprocess.Popen(
            [call.reprise, "serve", "--port", "0", "--data", f"{folder}/data", "--keys", f"{folder}/key", "--json",
             "--connections-per-address", "20000", *options], stdout=subprocess.PIPE)
        self.port = json.loads(self.process.stdout.readline())["port"]

    @property
    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024

    @property
    def seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")")[-1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def fill(folder, count):
    """Fifty members a channel, written beside a server that is not running."""
    db = sqlite3.connect(f"{folder}/data/accounts.sqlite")
    for channel in range((count + MEMBERS - 1) // MEMBERS):
        users = range(channel * MEMBERS, min((channel + 1) * MEMBERS, count))
        db.execute("INSERT INTO channels (name, visibility, history, made, members) VALUES (?, 'private', 'all', 0, ?)",
                   (f"room-{channel}", len(users)))
        db.executemany("INSERT INTO members (channel, user, role, joined, since) VALUES (?, ?, 'member', 0, 0)",
                       [(f"room-{channel}", f"user-{user}") for user in users])
    db.commit()
    db.close()


async def connect(server, count):
    loop = asyncio.get_running_loop()
    devices = []
    for start in range(0, count, 200):
        new = [Device(number) for number in range(start, min(start + 200, count))]
        await asyncio.gather(*(loop.create_connection(lambda device=device: device, "127.0.0.1", server.port) for device in new))
        await asyncio.gather(*(device.welcomed for device in new))
        devices += new
    return devices


async def spent(server, seconds, work=None):
    """The server's processor time as a share of one core."""
    begun, at = server.seconds, time.monotonic()
    if work:
        await work(at + seconds)
    await asyncio.sleep(max(0, at + seconds - time.monotonic()))
    return 100 * (server.seconds - begun) / (time.monotonic() - at)


async def measure(call, folder, mode):
    server = Server(call, folder, *([] if mode == "off" else ["--presence"]))
    try:
        empty = server.memory
        devices = await connect(server, call.connections)
        looking = devices if mode == "all" else devices[::10] if mode == "tenth" else []
        Device.told = Device.answered = 0
        for start in range(0, len(looking), 200):
            for device in looking[start:start + 200]:
                device.send({"type": "watch", "channels": [{"channelId": f"room-{device.number // MEMBERS}"}]})
            await asyncio.sleep(0.05)
        while Device.answered < len(looking):
            await asyncio.sleep(0.1)
        await asyncio.sleep(32)  # a heartbeat's interval, and when users were seen last is written
        answered, memory = Device.answered, server.memory
        idle = await spent(server, call.seconds)
        if mode == "off":
            print(f"{mode:6}  {empty:.1f} MB empty, {memory:.1f} MB, {(memory - empty) * 1024 / len(devices):.2f} KB a connection; "
                  f"nothing happens: {idle:.1f} % of a core", flush=True)
            return

        async def change(end):
            number, is_idle = 0, True
            while time.monotonic() < end:
                for _ in range(call.changes // 10):
                    devices[number % len(devices)].send({"type": "presence", "state": "idle" if is_idle else "online"})
                    number += 97
                    if number % (97 * len(devices)) == 0:
                        is_idle = not is_idle
                await asyncio.sleep(0.1)

        told = Device.told
        busy = await spent(server, call.seconds, change)
        print(f"{mode:6}  {empty:.1f} MB empty, {memory:.1f} MB, {(memory - empty) * 1024 / len(devices):.2f} KB a connection; "
              f"nothing happens: {idle:.1f} % of a core; {call.changes} changes a second: {busy:.1f} %, "
              f"{(Device.told - told) / call.seconds:.0f} frames a second to {len(looking)} lookers ({answered} answers), "
              f"{server.memory:.1f} MB", flush=True)
        assert Device.lost == 0, f"{Device.lost} connections were lost"
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reprise", required=True)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--modes", default="off,on,tenth,all")
    call = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="reprise-presence-")
    try:
        with open(f"{folder}/key", "wb") as file:
            file.write(base64.b64encode(SECRET))
        os.chmod(f"{folder}/key", 0o600)
        Server(call, folder).stop()
        fill(folder, call.connections)
        for mode in call.modes.split(","):
            asyncio.run(measure(call, folder, mode))
            Device.lost = 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
