"""The faults of scripts/chaos: what is broken, how it is put right, and how long nobody was acknowledged anything meanwhile."""
import bisect
import collections
import os
import shutil
import time

# What stands here more often is played more often. "Hears nothing": packets to it are lost; "is not heard": those from it.
HERE = ["kill gateway", "kill gateway", "remove view", "stop gateway", "kill node", "kill leader", "kill leader", "stop node",
        "stop leader", "kill leader and gateway", "kill all nodes", "remove disk"]
PARTITIONS = ["leader without nodes", "leader alone", "leader hears nothing", "leader is not heard",
              "gateway alone", "gateway hears nothing", "gateway is not heard"]
POWER = ["power of nodes", "power of all"]
DISKS = ["full node", "full leader", "full gateway"]
# These may be followed by the next before all is ready again.
OVERLAPPING = [what for what in HERE + PARTITIONS if what != "remove disk"]
WAYS = {"hears nothing": ["in"], "is not heard": ["out"]}
began = time.monotonic()


def say(*words):
    print(f"{time.monotonic() - began:7.1f} s", *words, flush=True)


class Faults:
    """What goes wrong, one after the other, and is put right after a while.

    Of --only each waits until all is ready again, so that its figures are its own.
    """

    def __init__(self, cluster, pick, call):
        self.cluster, self.pick, self.call = cluster, pick, call
        self.played, self.left_out, self.faults, self.is_unready = [], collections.Counter(), [], False

    def choose(self):
        """The same seed draws the same faults everywhere; those that cannot be played here are counted."""
        while True:
            what = self.pick.choice(self.call.only)
            if what not in HERE and not self.cluster.network:
                self.left_out[what] += 1
            elif what == "remove disk" and len(self.cluster.nodes) < 3:
                return "kill node"
            elif what == "leader without nodes" and len(self.cluster.nodes) < 3:
                return "leader alone"
            else:
                return what

    def play(self):
        cluster, pick = self.cluster, self.pick
        time.sleep(pick.uniform(0.5, 4))
        index = pick.randrange(len(cluster.gateways))
        gateway, node, what, seconds = cluster.gateways[index], pick.choice(cluster.nodes), self.choose(), pick.uniform(0.5, 8)
        if "leader" in what:
            node = cluster.leader()
        # A majority must be whole before the next disk is lost: that is what three copies promise.
        if what not in OVERLAPPING:
            self.finish()
        say(what, *self.names(what, node, gateway))
        began = time.monotonic()
        if what in PARTITIONS:
            self.partition(what, node, gateway, pick.uniform(3, 15))
        elif what in POWER:
            self.power(cluster.nodes + (cluster.gateways if what == "power of all" else []))
        elif what in DISKS:
            self.full(what, gateway if what == "full gateway" else node, pick.uniform(3, 10))
        else:
            self.hit(what, node, gateway, index)
            time.sleep(seconds)
        mended = time.monotonic()
        cluster.start()
        before, self.is_unready = self.is_unready, what in OVERLAPPING and not self.call.is_one_by_one and pick.random() < 0.15
        if not self.is_unready:
            self.wait(what)
        self.played.append((began, "several at once" if self.is_unready or before else what, time.monotonic() - mended))

    def finish(self):
        if self.is_unready:
            self.wait("several at once")
            self.is_unready = False

    def wait(self, what):
        if self.call.sync != "always" and what in POWER:
            if not self.cluster.all_ready(20) and not self.is_ready_without_views():
                self.faults.append("the cluster is not ready again")
        elif not self.cluster.all_ready(90):
            self.cluster.tell_stopped()
            raise SystemExit(f"chaos: not ready within 90 s after: {what}; seed {self.call.seed}, {self.cluster.folder}")

    @staticmethod
    def names(what, node, gateway):
        words = set(what.split())
        return [node.name] * bool(words & {"node", "leader", "disk"}) + [gateway.name] * bool(words & {"gateway", "view"})

    def hit(self, what, node, gateway, index):
        """A process or its files."""
        if what in ("kill gateway", "remove view", "kill leader and gateway"):
            gateway.kill()
        if what == "remove view":
            self.cluster.remove_view(index)
        if what == "stop gateway":
            gateway.stop()
        if what in ("kill node", "kill leader", "remove disk", "kill leader and gateway"):
            node.kill()
        if what == "remove disk":
            shutil.rmtree(os.path.join(self.cluster.folder, node.name), ignore_errors=True)
        if what in ("stop node", "stop leader"):
            node.stop()
        if what == "kill all nodes":
            for each in self.cluster.nodes:
                each.kill()

    def partition(self, what, node, gateway, seconds):
        """The gateway loses its way to NATS; the leader that to the other nodes, or to everything but its monitor."""
        name, nets = (gateway.name, ["clients"]) if what.startswith("gateway") else (node.name, ["routes"])
        if len(self.cluster.nodes) == 1:
            nets = ["clients"]
        elif what == "leader alone":
            nets = ["clients", "routes"]
        for net in nets:
            self.cluster.network.cut(name, net, next((ways for words, ways in WAYS.items() if words in what), ["out", "in"]))
        time.sleep(seconds)
        dropped = self.cluster.network.heal()
        say(f"        healed after {seconds:.0f} s, packets dropped: {dropped}")
        if not all(dropped):
            self.faults.append(f"{what}: the cut has dropped nothing: {dropped}")

    def power(self, parts):
        """All parts stop first, so nothing is acknowledged after the moment at which their disks do."""
        for part in parts:
            part.stop()
        for part in parts:
            self.cluster.disks[part].cut_power()
        for part in parts:
            part.kill()
            self.cluster.disks[part].unmount()
            self.cluster.disks[part].mount()

    def full(self, what, part, seconds):
        """Restarted with room again, as an operator would."""
        self.cluster.disks[part].fill()
        end = time.monotonic() + (20 if what == "full gateway" else seconds)
        while time.monotonic() < end and part.is_running():
            time.sleep(0.1)
        if part.is_running():
            say(f"        {part.name} goes on")
        else:
            say(f"        {part.name} stopped with {part.child.returncode}: {part.last_words()}")
        if what == "full gateway" and (part.is_running() or part.child.returncode <= 0):
            self.faults.append(f"{what}: {part.name} did not stop with an error")
        part.kill()
        self.cluster.disks[part].free()

    def is_ready_without_views(self):
        """Without `always` the journal may be behind the views, or gone: they are removed, as documented."""
        self.cluster.tell_stopped()
        for index, gateway in enumerate(self.cluster.gateways):
            gateway.kill()
            self.cluster.remove_view(index)
        return self.cluster.come_up(40)

    def report(self, waits):
        """For each kind: how long nobody was acknowledged anything, and how long each message took."""
        kinds, moments = collections.defaultdict(lambda: [0, 0.0, 0.0, []]), [began for began, _, _ in self.played]
        for _, what, ready in self.played:
            kinds[what][0] += 1
            kinds[what][2] = max(kinds[what][2], ready)
        before = None
        for moment, wait in sorted(waits):
            index = bisect.bisect(moments, moment) - 1
            if index >= 0:
                kind = kinds[self.played[index][1]]
                kind[1] = max(kind[1], moment - (before or moment))
                kind[3].append(wait)
            before = moment
        print(f"{'fault':24} {'times':>5} {'no acknowledgement':>19} {'ready again':>12} {'acknowledged after':>26}")
        print(f"{'':24} {'':>5} {'for at most':>19} {'within':>12} {'median':>10} {'p99':>7} {'most':>7}")
        for what, (times, gap, ready, waits) in sorted(kinds.items()):
            print(f"{what:24} {times:5} {gap:17.1f} s {ready:10.1f} s", *(f"{words} s" for words in quantiles(waits)))
        for what, times in sorted(self.left_out.items()):
            print(f"{what:24} {times:5} left out: {self.call.missing}")


def quantiles(waits):
    waits = sorted(waits) or [float("nan")]
    return f"{waits[len(waits) // 2]:8.3f}", f"{waits[int(len(waits) * 0.99)]:5.2f}", f"{waits[-1]:5.1f}"
