#!/usr/bin/env python3
"""Measures what a cluster stores for each thing that happens, in bytes: the journal's on a node, and the view's on a gateway.

    Benchmarks/cluster-bytes.py [--reprise FILE] [--nats-server FILE]

Starts a node of NATS and a gateway with `--dev`. Does one kind of thing at a time, and reads before and after how long JetStream says that
the stream is, and how many pages of view.sqlite are used. The bytes do not depend on the machine or the build; `alone` is a request after
the other, so that each has an entry of its own. scripts/scale calculates with what it prints.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "Tests/Support/protocol"))
from client import Socket  # noqa: E402
loader = importlib.machinery.SourceFileLoader("chaos", os.path.join(ROOT, "scripts/chaos"))
chaos = importlib.util.module_from_spec(importlib.util.spec_from_loader("chaos", loader))
loader.exec_module(chaos)

BODY = 200


class Measured:
    def __init__(self, folder, call):
        self.folder, self.port, self.monitor, nats = folder, chaos.free_port(), chaos.free_port(), chaos.free_port()
        with open(f"{folder}/nats.conf", "w") as file:
            file.write(f'listen: 127.0.0.1:{nats}\nhttp: 127.0.0.1:{self.monitor}\nmax_payload: 1MB\njetstream {{ store_dir: "{folder}/js" }}\n')
        self.node = chaos.Process("node", [call.nats_server, "-c", f"{folder}/nats.conf"], f"{folder}/node.log")
        self.gateway = chaos.Process("gateway", [call.reprise, "serve", "--dev", "--log", f"nats://127.0.0.1:{nats}", "--port", str(self.port),
                                                 "--data", f"{folder}/view", "--connections-per-user", "1000"], f"{folder}/gateway.log")

    def start(self):
        self.node.start()
        time.sleep(1)
        self.gateway.start()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                return self.ask("GET", "/readyz", token=False)
            except OSError:
                time.sleep(0.1)
        raise SystemExit(open(f"{self.folder}/gateway.log").read()[-500:])

    def ask(self, method, path, body=None, kind="application/json", token=None):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode() if body is not None else None
        headers = {"content-type": kind} | ({} if token is False else {"authorization": f"Bearer {token or self.admin}"})
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def token(self, user, scope=""):
        return json.loads(self.ask("GET", f"/v1/dev/token?user={user}&scope={scope}", token=False))["token"]

    def sizes(self):
        time.sleep(0.5)
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/jsz?streams=1") as answer:
            state = json.load(answer)["account_details"][0]["stream_detail"][0]["state"]
        view = sqlite3.connect(f"file:{self.folder}/view/view.sqlite?mode=ro", uri=True)
        pages, free, size = (view.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
        view.close()
        return state["bytes"], (pages - free) * size

    def measure(self, what, count, body, isViewSteady=True):
        before = self.sizes()
        body()
        after = self.sizes()
        view = f"{(after[1] - before[1]) / count:8.0f}" if isViewSteady else "       -"
        print(f"{what:50} {(after[0] - before[0]) / count:8.0f} {view}", flush=True)

    def run(self):
        self.admin = self.token("root", "admin")
        self.ask("PUT", "/v1/channels/general", {"visibility": "public"})
        text = "x" * (BODY - 2)  # and its quotation marks

        def batches(first, count, each):
            for batch in range(count):
                self.ask("POST", "/v1/channels/general/messages", "".join(
                    json.dumps({"id": f"{first}-{batch}-{line}-0123456789abcdef", "body": text}) + "\n" for line in range(each)), "application/x-ndjson")

        def alone(count):
            for _ in range(count):
                self.ask("POST", "/v1/channels/general/messages", {"body": text})

        def members(count):
            for number in range(count):
                self.ask("PUT", f"/v1/channels/general/members/user{number:012}")

        tokens = {}

        def receipts(seq):
            for number, token in tokens.items():
                self.ask("PUT", "/v1/channels/general/positions", {"read": seq, "delivered": seq, "device": f"device-{number:012}-0123456789"}, token=token)

        def hellos(count):
            for number in list(tokens)[:count]:
                wire = Socket(f"ws://127.0.0.1:{self.port}/v1/connect")
                wire.send({"type": "hello", "version": 1, "device": f"device-{number:012}-0123456789", "client": "bytes", "token": tokens[number]})
                while wire.receive()["type"] != "welcome":
                    pass
                wire.socket.close()

        batches("warm", 20, 4_000)  # what is kept sorted by channel, and ids, have their final shape
        print(f"{'bytes of each':50} {'journal':>8} {'view':>8}")
        self.measure(f"message of {BODY} bytes, 1,000 a request", 80_000, lambda: batches("b", 80, 1_000))
        self.measure(f"message of {BODY} bytes, alone", 500, lambda: alone(500), False)  # what came before is moved meanwhile
        self.measure("member, alone", 2_000, lambda: members(2_000))
        for number in range(500):
            tokens[number] = self.token(f"user{number:012}")
        self.measure("receipt, alone: the user's first in the channel", 500, lambda: receipts(100))
        self.measure("receipt, alone: a later one", 500, lambda: receipts(200))
        self.measure("connection, alone: the device's first", 400, lambda: hellos(400))
        self.measure("connection, alone: a later one", 400, lambda: hellos(400))
        wire = Socket(f"ws://127.0.0.1:{self.port}/v1/connect")
        wire.send({"type": "hello", "version": 1, "device": "listener-0123456789", "client": "bytes", "token": tokens[1]})
        wire.send({"type": "subscribe", "channels": [{"channelId": "general", "coverage": [[0, 1_000_000]]}]})
        while wire.receive()["type"] != "sync_complete":
            pass
        took = []
        receive = wire.socket.recv

        class Counting:
            def __getattr__(self, name):
                return getattr(inner, name)

            def recv(self, size):
                bytes = receive(size)
                took.append(len(bytes))
                return bytes

        inner, wire.socket = wire.socket, Counting()
        alone(10)
        events = 0
        while events < 10:
            events += wire.receive()["type"] == "event"
        print(f"{'a live event of such a message, on the wire':50} {sum(took) / 10:8.0f}")

    def end(self):
        self.gateway.kill()
        self.node.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reprise", default=os.path.join(ROOT, ".build/release/reprise"))
    parser.add_argument("--nats-server", default=os.path.join(ROOT, ".build/python/bin/nats-server"))
    folder = tempfile.mkdtemp(prefix="reprise-bytes-")
    measured = Measured(folder, parser.parse_args())
    try:
        measured.start()
        measured.run()
    finally:
        measured.end()
        shutil.rmtree(folder, ignore_errors=True)


main()
