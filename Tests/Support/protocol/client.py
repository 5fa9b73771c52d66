#!/usr/bin/env python3
"""A small device, written from docs/protocol.md alone, with Python's standard library alone.

    client.py ws://HOST:PORT/v1/connect CHANNEL STATE [--cut FRAMES]

It keeps STATE, a file with its coverage and what it has: each message that is new is printed as a line of JSON. Lines of standard
input are published. It ends with 0 when the input has ended, all of it is stored, and it is caught up; with 1 when the server tells it to stop.
--cut ends each connection after so many frames, in the middle of whatever is going on.
"""
import base64
import hashlib
import json
import os
import random
import secrets
import socket
import struct
import sys
import time
import urllib.parse


class Cut(Exception):
    """The connection is over; `code` is its close code, or None."""

    def __init__(self, code=None):
        super().__init__(code)
        self.code = code


class Socket:
    """RFC 6455, the client's half of it."""

    def __init__(self, url):
        address = urllib.parse.urlsplit(url)
        self.rest = b""
        self.socket = socket.create_connection((address.hostname, address.port), timeout=15)
        self.socket.settimeout(55)  # two heartbeats and 5 s
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: reprise.v1\r\n\r\n".encode())
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        status, *lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        accept = base64.b64encode(
            hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        if " 101 " not in status or fields.get("sec-websocket-accept") != accept:
            raise Cut()
        if fields.get("sec-websocket-protocol") != "reprise.v1":
            sys.exit("This is no Reprise server.")

    def more(self):
        bytes = self.socket.recv(65_536)
        if not bytes:
            raise Cut()
        self.rest += bytes

    def take(self, count):
        while len(self.rest) < count:
            self.more()
        bytes, self.rest = self.rest[:count], self.rest[count:]
        return bytes

    def write(self, opcode, payload):
        size = len(payload)
        head = bytes([0x80 | opcode]) + (
            bytes([0x80 | size]) if size < 126 else
            b"\xfe" + struct.pack(">H", size) if size < 65_536 else b"\xff" + struct.pack(">Q", size))
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload)))

    def send(self, frame):
        self.write(1, json.dumps(frame).encode())

    def receive(self):
        """The next frame of the protocol."""
        text = b""
        while True:
            first, second = self.take(2)
            size = second & 0x7F
            if size == 126:
                size, = struct.unpack(">H", self.take(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.take(8))
            if len(text) + size > 1_048_576:
                raise Cut(1009)
            payload = self.take(size)
            opcode = first & 0x0F
            if opcode == 8:
                raise Cut(struct.unpack(">H", payload[:2])[0] if len(payload) > 1 else None)
            if opcode == 9:
                self.write(10, payload)
            elif opcode in (0, 1):
                text += payload
                if first & 0x80:
                    return json.loads(text)


class Device:
    def __init__(self, channel, path, lines):
        self.channel, self.path = channel, path
        self.state = {"device": secrets.token_hex(16), "epoch": None, "coverage": [], "messages": {}, "outbox": []}
        if os.path.exists(path):
            with open(path) as file:
                self.state = json.load(file)
        # Recorded before they are sent, with an id each: what is sent again is the same message.
        self.state["outbox"] += [{"id": secrets.token_hex(16), "body": {"text": line}} for line in lines]
        self.save()
        self.target = None
        self.in_flight = None

    def save(self):
        """Messages, coverage and what waits to be sent, together or not at all."""
        with open(self.path + ".new", "w") as file:
            json.dump(self.state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self.path + ".new", self.path)

    def show(self, message):
        print(json.dumps(message), flush=True)

    def cover(self, after, through):
        """Returns whether there was nothing of it yet."""
        ranges = self.state["coverage"]
        if any(a < through <= b for a, b in ranges):
            return False
        merged = []
        for a, b in sorted(ranges + [[after, through]]):
            if merged and a <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], b)
            else:
                merged.append([a, b])
        if len(merged) > 256:
            return False
        self.state["coverage"] = merged
        return True

    def reaches(self, head):
        return head == 0 or self.state["coverage"][:1] == [[0, head]] or (
            bool(self.state["coverage"]) and self.state["coverage"][0][0] == 0 and self.state["coverage"][0][1] >= head)

    def subscribe(self, wire):
        one = {"channelId": self.channel}
        if self.state["epoch"]:
            one.update(epoch=self.state["epoch"], coverage=self.state["coverage"])
        self.target = None
        wire.send({"type": "subscribe", "channels": [one]})

    def publish(self, wire):
        """One at a time keeps them in order."""
        if self.in_flight is None and self.state["outbox"]:
            self.in_flight = self.state["outbox"][0]["id"]
            wire.send({"type": "publish", "channelId": self.channel, **self.state["outbox"][0]})

    def take(self, frame, wire):
        """Returns whether all is done."""
        kind = frame["type"]
        if kind == "error":
            print(frame["message"], file=sys.stderr)
        if frame.get("channelId", self.channel) != self.channel:
            return False
        if kind == "welcome":
            self.in_flight = None
            self.subscribe(wire)
            self.publish(wire)
        elif kind == "subscribed":
            if frame["epoch"] != self.state["epoch"] or frame.get("reset"):
                self.state.update(epoch=frame["epoch"], coverage=[])
                self.save()
        elif kind == "event":
            seq = frame["seq"]
            if self.cover(frame.get("prev", seq - 1), seq):
                if frame["id"] not in self.state["messages"]:
                    self.state["messages"][frame["id"]] = seq
                    self.show({"seq": seq, "id": frame["id"], "body": frame["body"]})
                self.save()
        elif kind == "gone":
            self.cover(frame["after"], frame["through"])
            self.save()
        elif kind == "sync_complete":
            self.target = frame["through"]
            if not self.reaches(self.target):
                self.subscribe(wire)
        elif kind == "heartbeat":
            head = frame.get("heads", {}).get(self.channel, 0)
            if self.target is not None and not self.reaches(head):
                self.subscribe(wire)
        elif kind == "published":
            self.state["outbox"] = [one for one in self.state["outbox"] if one["id"] != frame["id"]]
            self.save()
            self.in_flight = None
            self.publish(wire)
        elif kind == "refused":
            temporary = frame["code"] in ("unavailable", "rateLimited", "overloaded", "predecessorMissing")
            if not temporary:
                sys.exit(f"refused: {frame['code']}: {frame['message']}")
            time.sleep(frame.get("retryAfter", 1_000) / 1_000)
            self.in_flight = None
            self.publish(wire) if "id" in frame else self.subscribe(wire)
        return not self.state["outbox"] and self.target is not None and self.reaches(self.target)

    def run(self, url, cut):
        failures = 0
        while True:
            code, frames = None, 0
            try:
                wire = Socket(url)
                wire.send({"type": "hello", "version": 1, "device": self.state["device"], "client": "client.py"})
                while frames != cut:
                    done = self.take(wire.receive(), wire)
                    failures, frames = 0, frames + 1
                    if done:
                        return
                wire.socket.close()
            except Cut as end:
                code = end.code
            except OSError:
                pass
            failures += 1
            if code is not None and (4200 <= code <= 4299 or code in (1002, 1003, 1007, 1009)):
                sys.exit(f"The server says stop: {code}.")
            least = 5 if code is not None and (4100 <= code <= 4199 or code in (1001, 1011, 1012, 1013)) else 0
            if frames != cut:
                time.sleep(least + random.random() * min(60, 0.5 * 2 ** min(failures, 7)))


def main():
    url, channel, path, *rest = sys.argv[1:]
    cut = int(rest[1]) if rest[:1] == ["--cut"] else -1
    lines = [line.rstrip("\n") for line in sys.stdin]
    Device(channel, path, lines).run(url, cut)


if __name__ == "__main__":
    main()
