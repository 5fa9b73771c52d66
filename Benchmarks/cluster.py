#!/usr/bin/env python3
"""Measures what a cluster stores: lines of NDJSON to each gateway, as fast as they are taken.

    Benchmarks/cluster.py [--seconds N] [--nodes N] [--gateways N] [--lines N] [--bytes N] [--reprise FILE] [--nats-server FILE]

Starts nats-server processes with `sync_interval: always` and gateways on this machine. Each gateway gets one request after the other,
of --lines messages of --bytes each, from a thread of its own; a message counts when it is acknowledged. Beside it, in the same run,
a single `reprise serve` with a log of its own gets the same. Build `reprise` with `--configuration release` first.
"""
import argparse
import http.client
import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
loader = importlib.machinery.SourceFileLoader("chaos", os.path.join(ROOT, "scripts/chaos"))
chaos = importlib.util.module_from_spec(importlib.util.spec_from_loader("chaos", loader))
loader.exec_module(chaos)


def load(ports, call):
    """Messages a second that were acknowledged."""
    counts, faults = [0] * len(ports), []

    def run(index):
        body, made, end = "x" * call.bytes, 0, time.monotonic() + call.seconds
        while time.monotonic() < end and not faults:
            lines = "".join(json.dumps({"id": f"b{index}-{made + n}", "body": body}) + "\n" for n in range(call.lines))
            made += call.lines
            link = http.client.HTTPConnection("127.0.0.1", ports[index], timeout=60)
            link.request("POST", f"/v1/channels/c{index}/messages", lines, {"content-type": "application/x-ndjson"})
            text = link.getresponse().read().decode()
            link.close()
            counts[index] += text.count('"seq"')
            if text.count('"seq"') != call.lines:
                faults.append(text[-300:])

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(ports))]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        sys.exit(f"cluster.py: {faults[0]}")
    return sum(counts) / (time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--gateways", type=int, default=3)
    parser.add_argument("--lines", type=int, default=4_000)
    parser.add_argument("--bytes", type=int, default=200)
    parser.add_argument("--reprise", default=os.path.join(ROOT, ".build/release/reprise"))
    parser.add_argument("--nats-server", default=os.path.join(ROOT, ".build/python/bin/nats-server"))
    call = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="reprise-cluster-")
    cluster = chaos.Cluster(folder, call)
    port = chaos.free_port()
    alone = chaos.Process("alone", [call.reprise, "serve", "--data", os.path.join(folder, "alone"), "--port", str(port)],
                          os.path.join(folder, "alone.log"))
    try:
        alone.start()
        time.sleep(1)
        single = load([port], call)
        alone.kill()
        for node in cluster.nodes:
            node.start()
        time.sleep(1)
        cluster.start()
        if not cluster.all_ready(60):
            sys.exit("cluster.py: the cluster is not ready within 60 s")
        together = load(cluster.ports, call)
        print(f"{call.gateways} gateways, {call.nodes} nodes, {call.bytes} B: {together:,.0f} durable messages/s;"
              f" a single server in the same run: {single:,.0f}/s")
    finally:
        alone.kill()
        cluster.kill()
        shutil.rmtree(folder, ignore_errors=True)


main()
