"""Where the parts of a cluster run: network namespaces that can be cut off, and disks that fill and lose power. Linux, root.

Network: two bridges, `clients` (gateways and nodes) and `routes` (nodes alone); a part has an interface on each that it needs. A cut
drops all packets of one interface, in one direction or both. Devices reach a gateway inside its namespace, whatever is cut.
Disk: an ext4 on a loop device. Both are made in a network and mount namespace of this process, and end with it.
"""
import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import threading

TOOLS = ["unshare", "nsenter", "ip", "tc", "mount", "umount", "mkfs.ext4"]
EXT4_SHUTDOWN = 0x8004587D  # _IOR('X', 125, u32)
WITHOUT_FLUSH = 2
CLONE_NEWNET = 0x40000000
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
        self.addresses, self.cuts = {}, []
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
        """Drops what leaves, and what enters."""
        for way in ways:
            tc, device = (["tc", "-n", name], net) if way == "out" else (["tc"], self.outer(name, net))
            run(*tc, "qdisc", "replace", "dev", device, "root", "blackhole")
            self.cuts.append((tc, device))

    def heal(self):
        """Ends all cuts; how many packets each has dropped."""
        dropped = []
        for tc, device in self.cuts:
            dropped.append(sum(one["drops"] for one in json.loads(run(*tc, "-s", "-j", "qdisc", "show", "dev", device))))
            run(*tc, "qdisc", "del", "dev", device, "root")
        self.cuts = []
        return dropped


class Disk:
    """A file system that can be full, and that can lose its power."""

    def __init__(self, point, megabytes=4096):
        self.point, self.image = point, point + ".disk"
        with open(self.image, "wb") as file:
            file.truncate(megabytes << 20)
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-J", "size=8", self.image)
        os.makedirs(point, exist_ok=True)
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
