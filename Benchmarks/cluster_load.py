"""What Benchmarks/cluster.py puts on servers, and what it reads of the machine. Linux: it reads /proc."""
import http.client
import json
import os
import re
import select
import socket
import struct
import threading
import time

EVENT, COMPLETE = b'"type":"event"', b'"type":"sync_complete"'
ANSWER = re.compile(rb'"type":"(published|refused)","channelId":"[^"]*","id":"[^"]*-(\d+)"')


class Failed(Exception):
    """The load was not taken as it must be."""


def spread(values, *shares):
    """The values at these shares of them, sorted."""
    values = sorted(values)
    return [values[min(len(values) - 1, int(len(values) * share))] for share in shares]


class Spent:
    """Seconds of CPU of processes since it was made, and of the machine."""

    def __init__(self, **groups):
        self.groups, self.began = groups, time.monotonic()
        self.before = {name: [self.cpu(child.pid) for child in group] for name, group in groups.items()}
        self.own, self.machine = time.process_time(), self.times()

    @staticmethod
    def cpu(pid):
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def times():
        with open("/proc/stat") as file:
            return [int(field) for field in file.readline().split()[1:9]]

    def of(self, name):
        return [self.cpu(child.pid) - before for child, before in zip(self.groups[name], self.before[name])]

    def text(self, **more):
        """All of it; what is neither ours, idle nor waiting was taken by others on this machine."""
        groups = {name: self.of(name) for name in self.groups} | more | {"load": [time.process_time() - self.own]}
        taken = [(now - before) / os.sysconf("SC_CLK_TCK") for now, before in zip(self.times(), self.machine)]
        idle, waiting = taken[3:5]
        others = sum(taken) - idle - waiting - sum(sum(group) for group in groups.values())
        parts = [f"{name} {' '.join(f'{one:.1f}' for one in group)}" for name, group in groups.items()]
        return (f"CPU s in {time.monotonic() - self.began:.1f} s: {', '.join(parts)}; others {max(others, 0):.1f},"
                f" idle {idle:.1f}, waiting for the disk {waiting:.1f}")


# --- HTTP

def head(port, channel):
    """A channel's newest sequence: a gateway answers once it has applied what was acknowledged before."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    link.request("GET", f"/v1/channels/{channel}/messages?limit=1")
    answer = json.load(link.getresponse())
    link.close()
    return answer["head"]


def post(ports, count, size, lines, run, requests=1):
    """Stores so many messages, a share at each port, so many requests at a time; returns seconds until all servers have all of them."""
    shares, faults = [], []
    for index in range(len(ports)):
        share = range(index, count, len(ports))
        texts = [f'{{"id":"{run}-{n}","body":"{"x" * size}"}}\n' for n in share]
        shares.append([(len(texts[at:at + lines]), "".join(texts[at:at + lines]).encode()) for at in range(0, len(texts), lines)])
    before = {index: head(ports[index], f"c{index}") for index in range(len(ports))}

    def send(index, part):
        try:
            link = http.client.HTTPConnection("127.0.0.1", ports[index], timeout=60)
            for wanted, text in shares[index][part::requests]:
                link.request("POST", f"/v1/channels/c{index}/messages", text, {"content-type": "application/x-ndjson"})
                answer = link.getresponse().read()
                if answer.count(b'"seq"') != wanted:
                    raise Failed(answer[-300:].decode())
            link.close()
        except (OSError, http.client.HTTPException, Failed) as error:
            faults.append(error)

    threads = [threading.Thread(target=send, args=(index, part)) for index in range(len(ports)) for part in range(requests)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise Failed(f"a request failed: {faults[0]}")
    for port in ports:
        for index, former in before.items():
            expect(port, f"c{index}", former + len(range(index, count, len(ports))))
    return time.monotonic() - began


def expect(port, channel, wanted):
    found = head(port, channel)
    if found != wanted:
        raise Failed(f"{channel} has {found} messages at {port} instead of {wanted}")


# --- WebSocket

def frame(text):
    """A client's frame whose mask is zero: Python needs too long for any other."""
    size = len(text)
    return bytes([0x81, 0x80 | (size if size < 126 else 126)]) + (b"" if size < 126 else struct.pack(">H", size)) + bytes(4) + text


def dial(client, port, name):
    """A device that is welcomed; `client` is the tests' module."""
    wire = client.Socket(f"ws://127.0.0.1:{port}/v1/connect")
    wire.send({"type": "hello", "version": 1, "device": name, "client": "benchmark"})
    while wire.receive()["type"] != "welcome":
        pass
    return wire


class Arrivals:
    """Messages that arrive evenly at a rate, whether earlier ones are acknowledged or not, a share at each server."""

    def __init__(self, client, ports, rate, count, size, devices, run):
        self.rate, self.count, self.ports = rate, count, ports
        self.wires = [dial(client, ports[number % len(ports)], f"{run}-d{number}").socket for number in range(devices * len(ports))]
        self.frames = [frame(b'{"type":"publish","channelId":"c%d","id":"%s-%d","body":"%s"}' % (n % len(ports), run.encode(), n, b"x" * size))
                       for n in range(count)]
        # By number: when it was acknowledged, from its arrival on; the time of each acknowledgement.
        self.waits, self.times, self.refused = {}, [], 0

    def run(self, patience=30):
        rest = {wire: b"" for wire in self.wires}
        unsent = {wire: bytearray() for wire in self.wires}
        for wire in self.wires:
            wire.setblocking(False)
        poll = select.epoll()
        by_number = {}
        for wire in self.wires:
            poll.register(wire, select.EPOLLIN)
            by_number[wire.fileno()] = wire
        self.began = last = time.monotonic()
        sent = 0
        while len(self.waits) + self.refused < self.count:
            now = time.monotonic()
            touched = set()
            while sent < self.count and self.began + sent / self.rate <= now:
                wire = self.wires[sent % len(self.wires)]
                unsent[wire] += self.frames[sent]
                touched.add(wire)
                sent += 1
            for wire in touched:
                self.flush(wire, unsent[wire])
            due = self.began + sent / self.rate - time.monotonic() if sent < self.count else 0.1
            for number, _ in poll.poll(max(0, min(due, 0.1))):
                wire = by_number[number]
                data = wire.recv(1 << 20)
                if not data:
                    raise Failed("a server has closed a connection")
                last, text = time.monotonic(), rest[wire] + data
                end = 0
                for match in ANSWER.finditer(text):
                    end = match.end()
                    if match[1] == b"refused":
                        self.refused += 1
                        continue
                    n = int(match[2])
                    self.waits[n] = last - self.began - n / self.rate
                    self.times.append((last, n % len(self.ports)))
                rest[wire] = text[end:]
            for wire, bytes in unsent.items():
                if bytes:
                    self.flush(wire, bytes)
            if time.monotonic() - last > patience:
                raise Failed(f"no answer for {patience} s; {len(self.waits)} of {self.count} acknowledged")
        for wire in self.wires:
            wire.close()
        poll.close()

    @staticmethod
    def flush(wire, bytes):
        try:
            del bytes[:wire.send(bytes)]
        except BlockingIOError:
            pass

    def silence(self, part=None):
        """The longest time without an acknowledgement, at all servers together or at one of them."""
        times = [time for time, server in self.times if part in (None, server)]
        return max(later - earlier for earlier, later in zip(times, times[1:]))


def catch_up(client, port, channel, wanted, run):
    """Seconds from a new device's subscribe to the end of its catch-up."""
    wire = dial(client, port, run)
    count, rest, buffer = 0, b"", bytearray(1 << 20)
    began = time.monotonic()
    wire.socket.sendall(frame(b'{"type":"subscribe","channels":[{"channelId":"%s"}]}' % channel.encode()))
    keep = max(len(EVENT), len(COMPLETE)) - 1
    while True:
        size = wire.socket.recv_into(buffer)
        if not size:
            raise Failed("the server has closed the connection")
        text = rest + buffer[:size]
        # What stands in the rest alone was counted before.
        count += text.count(EVENT) - rest.count(EVENT)
        if COMPLETE in text:
            break
        rest = bytes(text[-keep:])
    taken = time.monotonic() - began
    wire.socket.close()
    if count != wanted:
        raise Failed(f"{count} messages were caught up instead of {wanted}")
    return taken


class FanOut:
    """Connections that each get all of one channel: one channel for each port, the connections of each at all ports."""

    def __init__(self, client, ports, connections, run):
        self.ports, self.run_name, self.each = ports, run, connections // len(ports)
        wires = [dial(client, ports[n % len(ports)], f"{run}-{n}") for n in range(self.each * len(ports))]
        for n, wire in enumerate(wires):
            wire.send({"type": "subscribe", "channels": [{"channelId": self.channel(n // self.each)}]})
        for wire in wires:
            while wire.receive()["type"] != "sync_complete":
                pass
        self.wires = [wire.socket for wire in wires]

    def channel(self, index):
        return f"{self.run_name}c{index}"

    def run(self, count, size, lines=250, window=1_000, patience=30):
        """Deliveries a second; of each channel at most `window` messages and `lines` more are stored and have not arrived."""
        share, arrived, changed, faults = count // len(self.ports), [0] * len(self.ports), threading.Condition(), []

        def send(index):
            link = http.client.HTTPConnection("127.0.0.1", self.ports[index], timeout=patience)
            try:
                for at in range(0, share, lines):
                    with changed:
                        if not changed.wait_for(lambda: faults or at - arrived[index] / self.each < window, patience) or faults:
                            return
                    part = range(at, min(at + lines, share))
                    text = "".join(f'{{"id":"{self.run_name}-{index}-{n}","body":"{"x" * size}"}}\n' for n in part)
                    link.request("POST", f"/v1/channels/{self.channel(index)}/messages", text.encode(), {"content-type": "application/x-ndjson"})
                    answer = link.getresponse().read()
                    if answer.count(b'"seq"') != len(part):
                        raise Failed(answer[-300:].decode())
            except (OSError, http.client.HTTPException, Failed) as error:
                faults.append(error)
            finally:
                link.close()

        counts, rest, poll = [0] * len(self.wires), [b""] * len(self.wires), select.epoll()
        numbers = {wire.fileno(): n for n, wire in enumerate(self.wires)}
        for wire in self.wires:
            poll.register(wire, select.EPOLLIN)
        threads = [threading.Thread(target=send, args=(index,)) for index in range(len(self.ports))]
        began = last = time.monotonic()
        for thread in threads:
            thread.start()
        try:
            while sum(arrived) < share * len(self.wires):
                for number, _ in poll.poll(0.1):
                    n = numbers[number]
                    data = self.wires[n].recv(1 << 18)
                    if not data:
                        raise Failed("a server has closed a connection")
                    text = rest[n] + data
                    found, rest[n] = text.count(EVENT), text[1 - len(EVENT):]
                    if found:
                        counts[n], last = counts[n] + found, time.monotonic()
                        with changed:
                            arrived[n // self.each] += found
                            changed.notify_all()
                if faults:
                    raise Failed(f"a request failed: {faults[0]}")
                if time.monotonic() - last > patience:
                    raise Failed(f"nothing for {patience} s; {sum(arrived):,} of {share * len(self.wires):,} have arrived")
        except Failed as error:
            faults.append(error)
            raise
        finally:
            with changed:
                changed.notify_all()
            for thread in threads:
                thread.join()
            poll.close()
            for wire in self.wires:
                wire.close()
        if set(counts) != {share}:
            raise Failed(f"connections got {min(counts)} to {max(counts)} messages instead of {share}")
        return sum(counts) / (last - began)
