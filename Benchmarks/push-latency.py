#!/usr/bin/env python3
"""Measures how long a message waits for its push: from the answer to its publish to the push service's answer.

    Benchmarks/push-latency.py [--reprise FILE] [--messages 200] [--per-second 20]

Starts `reprise serve --dev` with a stand-in of APNs beside it, which takes each push at once. Each message goes to a channel of its own with one
member, whose phone is not connected; so no device's rate counts. Prints the median, the 99th percentile and the longest time in milliseconds.
Fails if a message is pushed twice, or not within 30 s.
"""
import argparse
import http.server
import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
loader = importlib.machinery.SourceFileLoader("chaos", os.path.join(ROOT, "scripts/chaos"))
chaos = importlib.util.module_from_spec(importlib.util.spec_from_loader("chaos", loader))
loader.exec_module(chaos)


class Apple(http.server.BaseHTTPRequestHandler):
    """Takes pushes, and notes when, by their messages."""
    protocol_version = "HTTP/1.1"
    taken, lock = {}, threading.Lock()

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        with Apple.lock:
            Apple.taken.setdefault(self.headers["apns-collapse-id"], []).append(time.monotonic())
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def ask(port, method, path, body=None, token=None):
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"{}")


def measure(port, call):
    """Publishes, and returns how long each message waited, in seconds."""
    admin = ask(port, "GET", "/v1/dev/token?user=root&scope=admin")["token"]
    for number in range(call.messages):
        ask(port, "PUT", f"/v1/channels/room-{number}", {"visibility": "private"}, admin)
        ask(port, "PUT", f"/v1/channels/room-{number}/members/user-{number}", {"role": "member"}, admin)
        user = ask(port, "GET", f"/v1/dev/token?user=user-{number}&scope=")["token"]
        ask(port, "PUT", f"/v1/devices/phone-{number}", {"platform": "ios", "pushToken": f"{number:064x}"}, user)
    stored, start = {}, time.monotonic()
    for number in range(call.messages):
        time.sleep(max(0, start + number / call.per_second - time.monotonic()))
        ask(port, "POST", f"/v1/channels/room-{number}/messages", {"id": f"m-{number}", "body": {"text": "Hello"}}, admin)
        stored[f"m-{number}"] = time.monotonic()
    end = time.monotonic() + 30
    while len(Apple.taken) < call.messages:
        if time.monotonic() > end:
            raise SystemExit(f"{len(Apple.taken)} of {call.messages} messages were pushed")
        time.sleep(0.05)
    time.sleep(7)
    twice = sum(len(moments) > 1 for moments in Apple.taken.values())
    if twice:
        raise SystemExit(f"{twice} messages were pushed twice")
    return sorted(Apple.taken[name][0] - moment for name, moment in stored.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reprise", default=os.path.join(ROOT, ".build/release/reprise"))
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--per-second", type=float, default=20)
    call = parser.parse_args()
    apple = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Apple)
    threading.Thread(target=apple.serve_forever, daemon=True).start()
    folder = tempfile.mkdtemp(prefix="push-latency-")
    try:
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{folder}/key.pem"], check=True)
        with open(f"{folder}/key.p8", "wb") as file:
            subprocess.run(["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", f"{folder}/key.pem"], stdout=file, check=True)
        port = chaos.free_port()
        server = chaos.Process("server", [
            call.reprise, "serve", "--dev", "--port", str(port), "--data", f"{folder}/data", "--apns-key", f"{folder}/key.p8", "--apns-key-id",
            "KEY0000001", "--apns-team", "TEAM000001", "--apns-topic", "org.example.chat", "--apns-environment",
            f"http://127.0.0.1:{apple.server_address[1]}"], f"{folder}/server.log")
        server.start()
        end = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5)
                break
            except OSError:
                if time.monotonic() > end:
                    raise SystemExit(open(f"{folder}/server.log").read()[-1000:])
                time.sleep(0.1)
        try:
            times = measure(port, call)
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(times)} messages at {call.per_second:g}/s: median {times[len(times) // 2] * 1000:.0f} ms, "
          f"p99 {times[int(len(times) * 0.99)] * 1000:.0f} ms, longest {times[-1] * 1000:.0f} ms")


if __name__ == "__main__":
    main()
