"""Where the parts of a cluster run: network namespaces that can be cut off, and disks that fill and lose power. Linux, root.

Network: two bridges, `clients` (gateways and nodes) and `routes` (nodes alone); a part has an interface on each that it needs. A cut
drops all packets of one interface, in one direction or both. A relay in between delays, swaps and loses packets: few kernels have all
of `tc netem`. Devices reach a gateway inside its namespace, whatever is cut.
Disk: an ext4 on a loop device, whose medium can die. Both are made in a network and mount namespace of this process, and end with it.
"""
import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

TOOLS = ["unshare", "nsenter", "ip", "tc", "mount", "umount", "mkfs.ext4", "losetup"]
EXT4_SHUTDOWN = 0x8004587D  # _IOR('X', 125, u32)
WITHOUT_FLUSH = 2
CLONE_NEWNET = 0x40000000
# linux/if_packet.h
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, ETH_P_ALL = 263, 15, 23, 3
VNET_HEADER, ETHERNET_HEADER = 10, 14
DISCARD = 9
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def enter():
    """Starts this program again in namespaces of its own; returns what is missing for that, or None once it is inside."""
    if os.environ.pop("CHAOS_INSIDE", None):
        return None
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "not root on Linux"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"no {', '.join(missing)}"
    # What a container forbids shows when it is tried.
    trial = ('dir=$(mktemp -d) && mkdir -p /run/netns && mount -t tmpfs chaos /run/netns && ip link set lo up && ip netns add a && '
             'ip link add dev b type bridge && ip link add dev c type veth peer name d netns a && tc -n a qdisc add dev d root blackhole && '
             'truncate -s 16M $dir/disk && mkfs.ext4 -q $dir/disk && mkdir $dir/point && mount -o loop $dir/disk $dir/point && '
             'umount $dir/point && rm -r $dir')
    tried = subprocess.run(["unshare", "--mount", "--net", "sh", "-c", trial], capture_output=True, text=True)
    if tried.returncode:
        return (tried.stderr.strip().splitlines() or ["namespaces or loop mounts are refused"])[-1]
    os.environ["CHAOS_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--net", sys.executable, *sys.argv])


class Network:
    """One namespace a part."""

    NETS = {"clients": 1, "routes": 2}

    def __init__(self, nodes, gateways):
        self.addresses, self.cuts, self.relays = {}, [], []
        os.makedirs("/run/netns", exist_ok=True)
        run("mount", "-t", "tmpfs", "chaos", "/run/netns")
        run("ip", "link", "set", "lo", "up")
        for net, number in self.NETS.items():
            run("ip", "link", "add", "dev", net, "type", "bridge")
            run("ip", "link", "set", "dev", net, "up")
        for index, name in enumerate(nodes + gateways):
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "dev", "lo", "up")
            for net in ["clients"] + ["routes"] * (name in nodes):
                address = self.addresses[name, net] = f"10.77.{self.NETS[net]}.{10 + index}"
                run("ip", "link", "add", "dev", self.outer(name, net), "type", "veth", "peer", "name", net, "netns", name)
                run("ip", "link", "set", "dev", self.outer(name, net), "master", net, "up")
                run("ip", "-n", name, "address", "add", address + "/24", "dev", net)
                run("ip", "-n", name, "link", "set", "dev", net, "up")

    def outer(self, name, net):
        """The other end of an interface, at the bridge."""
        return f"{name}-{net[:3]}"

    @contextlib.contextmanager
    def inside(self, name):
        """Connections of this thread are made in the namespace of `name`, and stay there."""
        with open(f"/proc/self/task/{threading.get_native_id()}/ns/net") as own, open(f"/run/netns/{name}") as other:
            self.enter(other)
            try:
                yield
            finally:
                self.enter(own)

    @staticmethod
    def enter(namespace):
        if LIBC.setns(namespace.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    def command(self, name, words):
        return ["nsenter", f"--net=/run/netns/{name}", *words]

    def cut(self, name, net, ways=("out", "in")):
        """Drops what leaves, and what enters.

        A datagram is sent each way: no gateway may be connected to a node that is cut off, so that nothing else would be dropped.
        """
        other = next(one for one, its in self.addresses if its == net and one != name)
        for way in ways:
            tc, device = (["tc", "-n", name], net) if way == "out" else (["tc"], self.outer(name, net))
            run(*tc, "qdisc", "replace", "dev", device, "root", "blackhole")
            self.cuts.append((tc, device))
            source, target = (name, other) if way == "out" else (other, name)
            with self.inside(source), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
                end.sendto(b"probe", (self.addresses[target, net], DISCARD))

    def disturb(self, name, nets, seed, **how):
        """Puts relays between a part and its networks."""
        relays = [Relay(net, self.outer(name, net), seed, **how) for net in nets]
        self.relays += relays
        return relays

    def calm(self):
        for relay in self.relays:
            relay.end()
        self.relays = []

    def heal(self):
        """Ends all cuts; how many packets each has dropped."""
        dropped = []
        for tc, device in self.cuts:
            dropped.append(sum(one["drops"] for one in json.loads(run(*tc, "-s", "-j", "qdisc", "show", "dev", device))))
            run(*tc, "qdisc", "del", "dev", device, "root")
        self.cuts = []
        return dropped


class Relay(threading.Thread):
    """Takes an interface off its bridge, and passes its packets on late, in another order, or not at all.

    `delay`: seconds, least and most; each packet draws its own, so they overtake each other. `loss`: the share that is lost from the
    part, and to it. `without`: an IPv4 address; packets from and to it are lost.
    """

    def __init__(self, bridge, outer, seed, delay=(0, 0), loss=(0, 0), without=None):
        super().__init__(daemon=True)
        self.bridge, self.outer, self.delay, self.loss = bridge, outer, delay, loss
        self.pick = random.Random(seed)
        self.without = without and socket.inet_aton(without)
        self.passed = self.lost = self.overtaken = 0
        self.longest, self.is_ended = 0.0, threading.Event()
        self.near, self.far = outer + "-n", outer + "-f"
        run("ip", "link", "add", "dev", self.near, "type", "veth", "peer", "name", self.far)
        run("ip", "link", "set", "dev", outer, "nomaster")
        run("ip", "link", "set", "dev", self.far, "master", bridge, "up")
        run("ip", "link", "set", "dev", self.near, "up")
        self.ends = [self.open(outer), self.open(self.near)]
        self.start()

    @staticmethod
    def open(device):
        """With the header that says what the kernel still has to do: sums of packets, and cutting them."""
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        end.bind((device, ETH_P_ALL))
        return end

    def run(self):
        waiting, count, last = [], 0, [0, 0]
        while not self.is_ended.is_set():
            wait = min(0.1, max(0, waiting[0][0] - time.monotonic())) if waiting else 0.1
            for end in select.select(self.ends, [], [], wait)[0]:
                packet, now, way = end.recv(70_000), time.monotonic(), self.ends.index(end)
                if self.pick.random() < self.loss[way] or self.is_kept_away(packet):
                    self.lost += 1
                    continue
                count += 1
                heapq.heappush(waiting, (now + self.pick.uniform(*self.delay), count, now, way, packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, number, came, way, packet = heapq.heappop(waiting)
                try:
                    self.ends[1 - way].send(packet)
                except OSError:
                    continue
                self.passed += 1
                self.overtaken += number < last[way]
                last[way] = max(last[way], number)
                self.longest = max(self.longest, time.monotonic() - came)

    def is_kept_away(self, packet):
        at = VNET_HEADER + ETHERNET_HEADER
        return self.without and packet[at - 2:at] == b"\x08\x00" and self.without in (packet[at + 12:at + 16], packet[at + 16:at + 20])

    def end(self):
        self.is_ended.set()
        self.join()
        for end in self.ends:
            end.close()
        run("ip", "link", "del", "dev", self.near)
        run("ip", "link", "set", "dev", self.outer, "master", self.bridge, "up")


class Disk:
    """A file system that can be full, that can lose its power, and whose medium can die."""

    def __init__(self, point, megabytes=4096):
        self.point, self.image, self.megabytes = point, point + ".disk", megabytes
        os.makedirs(point, exist_ok=True)
        self.make()

    def make(self):
        """Empty."""
        with open(self.image, "wb") as file:
            file.truncate(self.megabytes << 20)
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-J", "size=8", self.image)
        self.mount()

    def mount(self):
        """ext4 replays its journal, as after a power failure."""
        run("mount", "-o", "loop", self.image, self.point)

    def unmount(self):
        run("umount", "-l", self.point)

    def fill(self):
        """Takes all space that is left."""
        with open(os.path.join(self.point, "ballast"), "wb") as file:
            size, step = 0, 1 << 30
            while step >= 1024:
                try:
                    os.posix_fallocate(file.fileno(), size, step)
                    size += step
                except OSError:
                    step //= 2

    def free(self):
        os.remove(os.path.join(self.point, "ballast"))

    def cut_power(self):
        """From now on nothing reaches the medium; what was not written back is lost."""
        folder = os.open(self.point, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, EXT4_SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
        finally:
            os.close(folder)

    def die(self):
        """From now on the medium answers with errors; ext4 hands them on, and then takes no writes."""
        with open("/proc/self/mounts") as mounts:
            device = [line.split()[0] for line in mounts if line.split()[1] == os.path.realpath(self.point)][-1]
        os.truncate(self.image, 1 << 20)
        run("losetup", "--set-capacity", device)

    def replace(self):
        """Another medium, with nothing on it."""
        self.unmount()
        os.remove(self.image)
        self.make()
