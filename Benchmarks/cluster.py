#!/usr/bin/env python3
"""Measures a cluster beside raw JetStream with as many tails that write the same rows to SQLite.

    Benchmarks/cluster.py [store | arrivals | overload | fan-out | catch-up | rebuild | leader | growth] [--messages N]
                          [--rates N,N] [--connections N] [--rounds N] [--bytes N] [--lines N] [--requests N] [--seconds N] [--nodes N] [--gateways N] [--reprise FILE]
                          [--nats-server FILE]

store     durable messages/s: NDJSON of --lines lines a request, --requests at a time at each gateway; until all gateways have all
arrivals  acknowledgements of messages that arrive at --rates a second for --seconds, by WebSocket; queueing counts
overload  twice what the gateways can for --seconds: all that was acknowledged is there, and then they are as fast as before
fan-out   deliveries/s to --connections in a channel for each gateway, those of each at all gateways, and to as many of a single server
catch-up  a new device's catch-up of --messages through a gateway, and from a single server
rebuild   a gateway without its view over a journal of --messages, from its start until /readyz
leader    the longest time without an acknowledgement when the journal's leader is killed
growth    what 50,000 more messages cost each gateway when 1,000, 100,000, 1,000,000 and so on up to --messages are stored (some minutes);
          ends with 2 before less than 10 GB of the disk are free

Starts nats-server processes with `sync_interval: always`, gateways, a single server and Benchmarks/peers/jetstream on this machine, one
after the other on the same nodes; what is not measured is stopped meanwhile. Prints the ratios, each target, and the CPU seconds of
every process: load, nodes and gateways share the machine. Build `reprise` with `--configuration release` first; the peer is compiled
here (a C compiler, nats.c, SQLite's header). Linux. Exit status: 0 all targets are met; 1 one is missed; 2 it could not be measured.
"""
import argparse
import collections
import http.client
import importlib.machinery
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
loader = importlib.machinery.SourceFileLoader("chaos", os.path.join(ROOT, "scripts/chaos"))
chaos = importlib.util.module_from_spec(importlib.util.spec_from_loader("chaos", loader))
loader.exec_module(chaos)
import client  # noqa: E402  scripts/chaos has put its folder on the path
from cluster_load import Arrivals, Failed, FanOut, Spent, catch_up, expect, post, spread  # noqa: E402

# What growth leaves of the disk.
SPARE = 10e9


class Bench:
    """Nodes, gateways, a single server and the peer."""

    def __init__(self, call, folder):
        self.call, self.folder, self.missed = call, folder, 0
        self.cluster = chaos.Cluster(folder, call)
        self.port = chaos.free_port()
        self.alone = chaos.Process("alone", [call.reprise, "serve", "--data", os.path.join(folder, "alone"), "--port", str(self.port)],
                                   os.path.join(folder, "alone.log"))
        self.peer = os.path.join(folder, "peer")
        self.probing = None
        subprocess.run([os.path.join(ROOT, "Benchmarks/peers/jetstream/build"), self.peer], check=True)

    def start(self, alone=False):
        for node in self.cluster.nodes:
            node.start()
        if alone:
            self.alone.start()
        end = time.monotonic() + 60
        while not all(is_ok(f"{monitor}/healthz") for _, monitor in self.cluster.monitors):
            if time.monotonic() > end:
                raise Failed("the nodes are not healthy within 60 s")
            time.sleep(0.2)
        # One after the other, and again: a gateway ends if the nodes do not make its stream yet.
        for index, gateway in enumerate(self.cluster.gateways):
            while not self.cluster.ready(index):
                if time.monotonic() > end:
                    raise Failed(f"{gateway.name} is not ready within 60 s")
                gateway.start()
                time.sleep(0.5)

    def kill(self):
        if self.probing is not None and self.probing.poll() is None:
            self.probing.kill()
        self.alone.kill()
        self.cluster.kill()

    def spent(self, *names):
        processes = {"gateways": self.cluster.gateways, "nodes": self.cluster.nodes, "single": [self.alone]}
        return Spent(**{name: [one.child for one in processes[name]] for name in names})

    def url(self):
        command = self.cluster.gateways[0].command
        return command[command.index("--log") + 1]

    def raw(self, *words):
        """What the peer measures while the gateways are stopped."""
        for gateway in self.cluster.gateways:
            gateway.stop()
        try:
            command = [self.peer, *words, "--url", self.url(), "--folder", self.folder, "--bytes", str(self.call.bytes),
                       "--replicas", str(3 if self.call.nodes >= 3 else 1)]
            answer = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, timeout=90)
        finally:
            for gateway in self.cluster.gateways:
                gateway.go_on()
        if answer.returncode:
            raise Failed("the peer has failed")
        return json.loads(answer.stdout)

    def target(self, text, holds):
        self.missed += not holds
        print(f"  {'met' if holds else 'MISSED'}: {text}", flush=True)


def is_ok(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (OSError, http.client.HTTPException):
        return False


def used(*folders):
    """Bytes on disk; files may go meanwhile."""
    return sum(int(subprocess.run(["du", "-s", "--block-size=1", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()[0])
               for folder in folders)


def middle(values):
    return statistics.median(values)


def store(bench):
    call, rates = bench.call, {"single": [], "peer": [], "gateways": []}
    bench.start(alone=True)
    for round in range(call.rounds or 2):
        spent = bench.spent("single")
        rates["single"].append(call.messages / post([bench.port], call.messages, call.bytes, call.lines, f"s{round}", call.requests))
        print(f"a single server: {rates['single'][-1]:,.0f} messages/s; {spent.text()}", flush=True)
        spent = bench.spent("nodes")
        found = bench.raw("store", "--messages", call.messages, "--tails", call.gateways)
        rates["peer"].append(found["rate"])
        print(f"raw JetStream with {call.gateways} tails: {found['rate']:,.0f} messages/s; {spent.text(tails=found['cpu'])}", flush=True)
        spent = bench.spent("gateways", "nodes")
        rates["gateways"].append(call.messages / post(bench.cluster.ports, call.messages, call.bytes, call.lines, f"g{round}", call.requests))
        print(f"{call.gateways} gateways: {rates['gateways'][-1]:,.0f} messages/s; {spent.text()}", flush=True)
    for name, values in rates.items():
        print(f"  {name}: {min(values):,.0f} to {max(values):,.0f} messages/s")
    ratio = middle(rates["gateways"]) / middle(rates["peer"])
    bench.target(f"gateways ≥ 0.7 × raw: {ratio:.2f}", ratio >= 0.7)
    bench.target(f"gateways ≥ 20,000 messages/s: {middle(rates['gateways']):,.0f}", middle(rates["gateways"]) >= 20_000)


def arrivals(bench):
    call = bench.call
    bench.start()
    stored = [0] * call.gateways
    for rate in call.rates:
        count, ours, raw = int(rate * call.seconds), [], []
        for round in range(call.rounds or 1):
            # One writer is the fastest that raw can be; as many as there are gateways are told beside it.
            for writers in dict.fromkeys([1, call.gateways]):
                spent = bench.spent("nodes")
                found = bench.raw("store", "--messages", count, "--rate", rate, "--tails", call.gateways, "--writers", writers)
                if writers == 1:
                    raw.append(found["committed"][1])
                print(f"{rate:,}/s, raw, {writers} to publish: to a tail's commit {found['committed'][0]:.1f} ms (median),"
                      f" {found['committed'][1]:.1f} (p99); to the tail {found['received'][0]:.1f}, {found['received'][1]:.1f};"
                      f" {spent.text(tails=found['cpu'])}", flush=True)
            load = Arrivals(client, bench.cluster.ports, rate, count, call.bytes, 4, f"r{rate}-{round}")
            spent = bench.spent("gateways", "nodes")
            load.run()
            half, most = spread(load.waits.values(), 0.5, 0.99)
            ours.append(most * 1e3)
            print(f"{rate:,}/s, {call.gateways} gateways: to the acknowledgement {half * 1e3:.1f} ms (median), {most * 1e3:.1f} (p99);"
                  f" {spent.text()}", flush=True)
            if load.refused:
                raise Failed(f"{load.refused} messages were refused")
            stored = [before + len(range(index, count, call.gateways)) for index, before in enumerate(stored)]
            for port in bench.cluster.ports:
                for index, wanted in enumerate(stored):
                    expect(port, f"c{index}", wanted)
        ratio = middle(ours) / middle(raw)
        bench.target(f"{rate:,}/s: acknowledgement's p99 ≤ 2 × raw's: {ratio:.2f}", ratio <= 2)


def overload(bench):
    """The capacity is what is acknowledged of messages that all come at once."""
    call, ports, stored = bench.call, bench.cluster.ports, collections.Counter()
    bench.start()

    def arrive(name, rate, count):
        load = Arrivals(client, ports, rate, count, call.bytes, 4, name)
        load.run()
        stored.update(n % len(ports) for n in load.waits)
        taken = load.times[-1][0] - load.began
        half, most = spread(load.waits.values(), 0.5, 0.99)
        print(f"{name}: {count:,} messages at {rate:,.0f}/s: {len(load.waits):,} acknowledged within {taken:.1f} s, {load.refused:,} refused;"
              f" after {half * 1e3:.1f} ms (median), {most * 1e3:.1f} (p99)", flush=True)
        return taken, half

    capacity = 20_000 / arrive("atOnce", 1e6, 20_000)[0]
    _, before = arrive("before", capacity / 4, int(capacity * 2.5))
    arrive("twice", 2 * capacity, int(2 * capacity * call.seconds))
    _, after = arrive("after", capacity / 4, int(capacity * 2.5))
    for port in ports:
        for index in range(len(ports)):
            expect(port, f"c{index}", stored[index])
    print("each gateway has what was acknowledged, and no more")
    bench.target(f"then as before: the median is {after / before:.2f} of it", after <= 2 * before)


def fan_out(bench):
    call, rates = bench.call, {"single": [], "gateways": []}
    bench.start(alone=True)
    ports = {"single": [bench.port] * call.gateways, "gateways": bench.cluster.ports}
    for round in range(call.rounds or 3):
        for name in rates:
            load = FanOut(client, ports[name], call.connections, f"{name}{round}")
            spent = bench.spent(*(["single"] if name == "single" else ["gateways", "nodes"]))
            rates[name].append(load.run(call.messages, call.bytes))
            print(f"{name}: {rates[name][-1]:,.0f} deliveries/s to {len(load.wires)} connections, {load.each} a message; {spent.text()}", flush=True)
    for name, values in rates.items():
        print(f"  {name}: {min(values):,.0f} to {max(values):,.0f} deliveries/s")
    ratio = middle(rates["gateways"]) / middle(rates["single"])
    bench.target(f"fan-out of {call.gateways} gateways together ≥ 0.8 × a single server's: {ratio:.2f}", ratio >= 0.8)


def caught_up(bench):
    call, rates, costs = bench.call, {"single": [], "gateways": []}, {"single": 0, "gateways": 0}
    bench.start(alone=True)
    ports = {"single": bench.port, "gateways": bench.cluster.ports[0]}
    for name, port in ports.items():
        post([port], call.messages, call.bytes, call.lines, name)
    for round in range(call.rounds or 15):
        for name, port in ports.items():
            spent = bench.spent(name)
            rates[name].append(call.messages / catch_up(client, port, "c0", call.messages, f"{name}-{round}"))
            costs[name] += spent.of(name)[0]
            print(f"{name}: {rates[name][-1]:,.0f} messages/s; {spent.text()}", flush=True)
    for name in ports:
        print(f"  {name}: {min(rates[name]):,.0f} to {max(rates[name]):,.0f} messages/s, {middle(rates[name]):,.0f} (median);"
              f" {len(rates[name]) * call.messages / max(costs[name], 0.01):,.0f} messages per CPU second of the server")
    ratio = middle(rates["gateways"]) / middle(rates["single"])
    bench.target(f"catch-up through a gateway ≥ 0.9 × a single server's: {ratio:.2f}", ratio >= 0.9)


def rebuild(bench):
    call, rates = bench.call, []
    bench.start()
    ports, gateway = bench.cluster.ports, bench.cluster.gateways[-1]
    post(ports, call.messages, call.bytes, call.lines, "r")
    found = bench.raw("replay", "--messages", call.messages, "--tails", 1)
    print(f"raw JetStream into one tail: {found['rate']:,.0f} messages/s; tail {found['cpu'][0]:.1f} CPU s", flush=True)
    for round in range(call.rounds or 2):
        gateway.kill()
        shutil.rmtree(bench.cluster.view(call.gateways - 1))
        began = time.monotonic()
        gateway.start()
        spent = bench.spent("gateways", "nodes")
        while not is_ok(f"http://127.0.0.1:{ports[-1]}/readyz"):
            if time.monotonic() - began > 90:
                raise Failed("the gateway is not ready within 90 s")
            time.sleep(0.02)
        rates.append(call.messages / (time.monotonic() - began))
        cost = Spent.cpu(gateway.child.pid)
        print(f"rebuilt: {rates[-1]:,.0f} messages/s, {call.messages / cost:,.0f} per CPU second of the gateway; {spent.text()}", flush=True)
        for index in range(call.gateways):
            expect(ports[-1], f"c{index}", len(range(index, call.messages, call.gateways)))
    bench.target(f"a view is rebuilt with ≥ 80,000 messages/s: {middle(rates):,.0f}", middle(rates) >= 80_000)


def leader(bench):
    call, rate, gaps = bench.call, 150, []
    for round in range(call.rounds or 2):
        bench.start()
        node = bench.cluster.leader()
        # Into the journal itself, which ignores what is no entry: so that both wait for the same election.
        bench.probing = subprocess.Popen(
            [bench.peer, "probe", "--url", bench.url(), "--subject", "rp.chaos.j", "--rate", "50", "--seconds", str(call.seconds + 1)],
            stdout=subprocess.PIPE)
        load = Arrivals(client, bench.cluster.ports, rate, int(rate * call.seconds), call.bytes, 4, f"l{round}")
        killing = threading.Timer(call.seconds / 5, node.kill)
        killing.start()
        load.run()
        answer = bench.probing.communicate(timeout=30)[0]
        if bench.probing.returncode:
            raise Failed("the peer has failed")
        raw = json.loads(answer)["longest"]
        each = [load.silence(index) for index in range(call.gateways)]
        print(f"{node.name} led and was killed: {raw:.2f} s without an acknowledgement to raw JetStream, {load.silence():.2f} s to a device;"
              f" at each gateway {' '.join(f'{one:.2f}' for one in each)} s; {len(load.waits)} acknowledged, {load.refused} refused", flush=True)
        if raw < 0.5:
            raise Failed("the leader's death was not noticed")
        gaps.append((load.silence() - raw, max(each) - raw))
    bench.target(f"a device waits ≤ 1 s longer than raw: {max(gap[0] for gap in gaps):.2f} s", max(gap[0] for gap in gaps) <= 1)
    bench.target(f"the same at each gateway: {max(gap[1] for gap in gaps):.2f} s", max(gap[1] for gap in gaps) <= 1)


def growth(bench):
    call, costs, size, batch, stored = bench.call, {}, 1_000, 50_000, 0
    if call.messages < 100_000:
        raise Failed("two sizes are compared, 1,000 and 100,000, so --messages is at least that")
    bench.start()
    ports, cluster = bench.cluster.ports, bench.cluster
    views = [cluster.view(index) for index in range(call.gateways)]

    def grow(count):
        nonlocal stored
        if stored:
            more, free = used(bench.folder) / stored * count, shutil.disk_usage(bench.folder).free
            if more > free - SPARE:
                raise Failed(f"{count:,} more messages need {more / 1e9:.1f} GB, {free / 1e9:.1f} are free, and {SPARE / 1e9:.0f} stay so")
        while count > 0:
            if shutil.disk_usage(bench.folder).free < SPARE:
                raise Failed(f"less than {SPARE / 1e9:.0f} GB are free with {stored:,} messages stored")
            part = min(count, 250_000)
            post(ports, part, call.bytes, call.lines, f"n{stored}", call.requests)
            stored, count = stored + part, count - part

    def spent():
        """What each gateway has spent, once none does anything that it has put off, or after a minute."""
        end, now, before = time.monotonic() + 60, None, None
        while before is None or max(map(float.__sub__, now, before)) > 0.1 and time.monotonic() < end:
            time.sleep(1)
            now, before = [Spent.cpu(one.child.pid) for one in cluster.gateways], now
        return now

    while size <= call.messages:
        grow(size - stored)
        before = spent()
        seconds = post(ports, batch, call.bytes, call.lines, f"g{size}", call.requests)
        stored += batch
        costs[size] = middle((now - former) / batch * 1e6 for now, former in zip(spent(), before))
        print(f"{size:,} stored: {batch / seconds:,.0f} messages/s, {costs[size]:.1f} CPU µs a message and gateway; bytes a message:"
              f" {used(*views) / stored / call.gateways:,.0f} at a gateway,"
              f" {used(*(os.path.join(bench.folder, node.name) for node in cluster.nodes)) / stored / call.nodes:,.0f} at a node;"
              f" {used(bench.folder) / 1e9:.2f} GB in all", flush=True)
        size = max(size * 10, 10 ** len(str(stored)))
    first, most = costs[1_000], max(costs.values())
    bench.target(f"a message costs within 20 % of the first at every size: {most / first:.2f}", most / first <= 1.2)


WHAT = {"store": (store, 200_000, 0), "arrivals": (arrivals, 0, 10), "catch-up": (caught_up, 200_000, 0), "rebuild": (rebuild, 500_000, 0),
        "overload": (overload, 0, 60), "fan-out": (fan_out, 30_000, 0), "leader": (leader, 0, 30), "growth": (growth, 10_000_000, 0)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", default="store", choices=WHAT)
    parser.add_argument("--messages", type=int)
    parser.add_argument("--rates", type=lambda text: [int(one) for one in text.split(",")], default=[2_000, 5_000])
    parser.add_argument("--connections", type=int, default=300)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--gateways", type=int, default=3)
    parser.add_argument("--lines", type=int, default=4_000)
    parser.add_argument("--requests", type=int, default=1)
    parser.add_argument("--bytes", type=int, default=200)
    parser.add_argument("--reprise", default=os.path.join(ROOT, ".build/release/reprise"))
    parser.add_argument("--nats-server", default=os.path.join(ROOT, ".build/python/bin/nats-server"))
    call = parser.parse_args()
    run, messages, seconds = WHAT[call.what]
    call.messages, call.seconds = call.messages or messages, call.seconds or seconds
    folder = tempfile.mkdtemp(prefix="reprise-cluster-")
    bench = None
    try:
        bench = Bench(call, folder)
        run(bench)
        return 1 if bench.missed else 0
    except (Failed, client.Cut, OSError, http.client.HTTPException, subprocess.SubprocessError) as error:
        print(f"cluster.py: {error}", file=sys.stderr)
        return 2
    finally:
        if bench is not None:
            bench.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
