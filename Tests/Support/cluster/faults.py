"""The faults of scripts/chaos: what is broken, how it is put right, and how long nobody was acknowledged anything meanwhile."""
import bisect
import collections
import contextlib
import os
import shutil
import subprocess
import time

# What stands here more often is played more often. "Hears nothing": packets to it are lost; "is not heard": those from it.
HERE = ["kill gateway", "kill gateway", "remove view", "stop gateway", "kill node", "kill leader", "kill leader", "stop node",
        "stop leader", "kill leader and gateway", "kill all nodes", "remove disk", "stop gateway beyond its leases", "restart gateway",
        "restart all nodes", "replace node", "make base", "damage node"]
PARTITIONS = ["leader without nodes", "leader alone", "leader hears nothing", "leader is not heard",
              "gateway alone", "gateway hears nothing", "gateway is not heard"]
# Packets are late and overtake each other, or a share is lost on the way to a part, or from it, or between two parts.
RELAYS = {
    "disorder at leader": {"delay": (0.001, 0.04)},
    "disorder at gateway": {"delay": (0.001, 0.04)},
    "disorder at all nodes": {"delay": (0.001, 0.02)},
    "loss to leader": {"loss": (0, 0.1)},
    "loss from leader": {"loss": (0.1, 0)},
    "loss to gateway": {"loss": (0, 0.1)},
    "loss from gateway": {"loss": (0.1, 0)},
    "gateway without its node": {},
}
# Only if it is asked for: it needs another nats-server.
OLD = "old node"
POWER = ["power of nodes", "power of all"]
DISKS = ["full node", "full leader", "full gateway", "failing node", "failing leader"]
EVERY = list(dict.fromkeys(HERE + PARTITIONS + list(RELAYS) + POWER + DISKS))
# These wait until all is ready before them and after them.
ALONE = ["remove disk", "stop gateway beyond its leases", "restart gateway", "restart all nodes", "replace node", "make base", "damage node"]
OVERLAPPING = [what for what in HERE + PARTITIONS + list(RELAYS) if what not in ALONE]
# Left out of runs of less than a minute.
LONG = ["stop gateway beyond its leases", "replace node", "make base", "damage node", "failing node", "failing leader"]
# Housekeeping and bases.
LEASES = 2
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
        self.damaged = None  # the node whose copy lacks entries

    def choose(self):
        """The same seed draws the same faults everywhere; those that cannot be played here are counted."""
        while True:
            what = self.pick.choice(self.call.only)
            if what not in [*HERE, OLD] and not self.cluster.network:
                self.left_out[what] += 1
            elif what in LONG and self.call.seconds < 60 and not self.call.is_one_by_one:
                continue
            elif what in ("remove disk", "replace node", "damage node", "failing node", "failing leader") and len(self.cluster.nodes) < 3:
                return "kill node"
            elif what == "stop gateway beyond its leases" and len(self.cluster.gateways) < 2:
                return "stop gateway"
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
        if what == "stop gateway beyond its leases":
            gateway = max(cluster.gateways, key=lambda one: cluster.leases([cluster.gateways.index(one)]))
        # A majority must be whole before the next disk is lost: that is what three copies promise.
        if what not in OVERLAPPING:
            self.finish()
            self.heal()
        say(what, *self.names(what, node, gateway))
        began = time.monotonic()
        if what in PARTITIONS:
            self.partition(what, node, gateway, pick.uniform(3, 15))
        elif what in RELAYS:
            self.disturb(what, node, gateway, pick.uniform(5, 12))
        elif what in POWER:
            self.power(cluster.nodes + (cluster.gateways if what == "power of all" else []))
        elif what == OLD:
            self.play_old(what, node, gateway)
        elif "failing" in what:
            self.fail(what, node)
        elif what in DISKS:
            self.full(what, gateway if what == "full gateway" else node, pick.uniform(3, 10))
        elif what == "stop gateway beyond its leases":
            self.outlive_leases(what, gateway)
        elif what == "restart gateway":
            self.restart(what, gateway)
        elif what == "restart all nodes":
            for each in cluster.nodes:
                self.restart(what, each)
                self.wait(what)
        elif what == "replace node":
            self.replace(what, node)
        elif what == "make base":
            self.make_base(what, gateway, index)
        elif what == "damage node":
            self.damage(what, node, gateway, index)
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
        return [node.name] * bool("its" not in words and words & {"node", "leader", "disk"}) + [gateway.name] * bool(words & {"gateway", "view", "base"})

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
        self.faults += cut_faults(what, dropped)

    def disturb(self, what, node, gateway, seconds):
        """Delays, swaps and loses packets: of the leader with all, of all nodes with each other, of a gateway with NATS."""
        network, how, relays = self.cluster.network, dict(RELAYS[what]), []
        if what == "gateway without its node":
            node = self.cluster.node_of(gateway) or node
            how["without"] = network.addresses[node.name, "clients"]
        parts = self.cluster.nodes if what == "disorder at all nodes" else [gateway if "gateway" in what else node]
        for part in parts:
            nets = ["clients"] + ["routes"] * (part is not gateway and len(self.cluster.nodes) > 1)
            relays += network.disturb(part.name, nets, self.pick.randrange(1 << 32), **how)
        time.sleep(seconds)
        network.calm()
        passed, lost, overtaken = (sum(getattr(relay, name) for relay in relays) for name in ("passed", "lost", "overtaken"))
        longest = max(relay.longest for relay in relays)
        say(f"        calm after {seconds:.0f} s: {passed} packets passed, {lost} lost, {overtaken} overtaken, {longest * 1e3:.0f} ms at most")
        self.faults += relay_faults(what, passed, lost, overtaken, longest)

    def outlive_leases(self, what, gateway):
        """Stopped until the others have its leases; as it goes on it does not act by its own."""
        others = [index for index, other in enumerate(self.cluster.gateways) if other is not gateway]
        gateway.stop()
        began, held = time.monotonic(), 0
        while time.monotonic() < began + 45 and (held != LEASES or time.monotonic() < began + 22):
            time.sleep(0.5)
            held = self.cluster.leases(others)
        seconds = time.monotonic() - began
        gateway.go_on()
        time.sleep(6)
        every = self.cluster.leases(range(len(self.cluster.gateways)))
        say(f"        went on after {seconds:.0f} s: {held} leases at the others before, {every} at all after")
        self.faults += lease_faults(what, held, every)

    def restart(self, what, part):
        """SIGTERM, its end, and a start with the files that are there: an upgrade to the same version."""
        began = time.monotonic()
        part.terminate(20)
        say(f"        {part.name} ended with {part.child.returncode} after {time.monotonic() - began:.1f} s")
        self.faults += end_faults(what, part.name, part.child.returncode)
        part.start()

    def replace(self, what, node):
        """The node is gone for good, with its disk; another one comes under a new name, and the cluster forgets the first."""
        node.kill()
        shutil.rmtree(os.path.join(self.cluster.folder, node.name), ignore_errors=True)
        former = self.cluster.rename(node)
        node.start()
        answer = self.cluster.ask_system(node, "$JS.API.SERVER.REMOVE", {"peer": former})
        wanted, peers = self.wait_for_peers()
        self.faults += peer_faults(what, former, wanted, peers, answer)

    def wait_for_peers(self):
        """A new node calls itself healthy before it has been given anything; the nodes that there are, and those that have all."""
        end, wanted, peers = time.monotonic() + 60, set(self.cluster.server_names.values()), set()
        while time.monotonic() < end and peers != wanted:
            time.sleep(0.2)
            peers = self.cluster.peers()
        say(f"        the journal is on {', '.join(sorted(map(str, peers)))}")
        return wanted, peers

    def fail(self, what, node):
        """A node's disk dies under it; the others go on, and it is named. Then it gets a new disk, with nothing on it."""
        cluster, name, end = self.cluster, self.cluster.server_names[node], time.monotonic() + 60
        is_named, is_ready, said = False, False, ""
        cluster.disks[node].die()
        while time.monotonic() < end and not (is_named and is_ready and said):
            time.sleep(0.5)
            # A reading waits for a round through the journal: two nodes store it.
            is_ready = all(map(cluster.ready, range(len(cluster.gateways))))
            is_named = is_ready and any(f"{name} is" in one["message"] for one in cluster.results()[1])
            said = cluster.complaint(node)
        say(f"        {'named' if is_named else 'not named'} by cluster check; gateways {'ready' if is_ready else 'not ready'}; it says: {said or 'nothing'}")
        node.kill()
        cluster.disks[node].replace()
        node.start()
        wanted, peers = self.wait_for_peers()
        self.faults += disk_faults(what, name, is_ready, is_named, said, wanted, peers)

    def damage(self, what, node, gateway, index):
        """Bits of a node's copy of the journal have flipped while it was off; then it leads, and a gateway without a view reads it all."""
        node.kill()
        flipped = flip(os.path.join(self.cluster.folder, node.name), self.pick)
        node.start()
        self.wait(what)
        leads = self.make_lead(node)
        gateway.kill()
        self.cluster.remove_view(index)
        say(f"        {flipped} bits were flipped; {node.name} {'leads' if leads else 'does not lead'}")
        self.faults += damage_faults(what, flipped, leads)
        self.damaged = node
        gateway.start()
        if not self.cluster.all_ready(20) and any("no base reaches it" in gateway.last_words() for gateway in self.cluster.gateways):
            # Its first blocks are damaged. NATS leaves them out, and docs/cluster-operations.md says what to do.
            other = next(one for one in self.cluster.nodes if one is not node)
            say(f"        its copy lacks the journal's beginning; {other.name} {'leads' if self.make_lead(other) else 'does not lead'} instead")

    def heal(self):
        """A damaged copy is made anew. JetStream copies what a leader lacks to new disks: with two of these, no node would have it."""
        node, self.damaged = self.damaged, None
        if node:
            node.kill()
            shutil.rmtree(os.path.join(self.cluster.folder, node.name), ignore_errors=True)
            node.start()
            self.wait("a copy that is made anew")
            self.wait_for_peers()

    def make_lead(self, node):
        """Whether it leads in the end."""
        end = time.monotonic() + 20
        while time.monotonic() < end and self.cluster.leader() is not node:
            self.cluster.let_lead(node)
            time.sleep(1)
        return self.cluster.leader() is node

    def play_old(self, what, node, gateway):
        """A node is older than gateways take, and is upgraded. Until then none starts while it leads; those that run go on."""
        cluster, new, old = self.cluster, self.call.nats_server, self.call.old_nats_server
        self.look(what, node)
        shutil.rmtree(os.path.join(cluster.folder, node.name), ignore_errors=True)
        node.command = [old if word == new else word for word in node.command]
        node.start()
        self.wait(what)
        self.wait_for_peers()
        other = next(one for one in cluster.nodes if one is not node)
        led = [self.make_lead(other)]
        gateway.terminate(20)
        gateway.start()
        self.wait(what)
        led.append(self.make_lead(node))
        goes_on = all(map(cluster.ready, range(len(cluster.gateways))))
        gateway.terminate(20)
        gateway.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            gateway.child.wait(timeout=30)
        status, words = gateway.child.poll(), gateway.last_words()
        checked, said = cluster.run_check()
        say(f"        {gateway.name} stopped with {status}: {words}; cluster check: {checked}")
        node.kill()
        node.command = [new if word == old else word for word in node.command]
        node.start()
        self.faults += old_faults(what, led, goes_on, status, words, checked, said)

    def look(self, what, node):
        """While all are busy no node is a problem. Then one is killed: it is named, and its monitor; all else is shown."""
        cluster, name, end = self.cluster, self.cluster.server_names[node], time.monotonic() + 30
        names = tuple(f"{one} " for one in cluster.server_names.values())
        busy = [one["message"] for _ in range(3) for one in cluster.report()["problems"] if one["message"].startswith(names)]
        node.kill()
        monitors = dict(cluster.monitors)
        port, parts = monitors[node.name].removeprefix("http://"), []
        while time.monotonic() < end and len(parts) < 4:
            time.sleep(0.5)
            report = cluster.report("--monitor", ",".join(monitors.values()))
            said = [one["message"] for one in report["problems"]]
            parts = ["the node"] * any(one.startswith(f"{name} is") for one in said)
            parts += ["its monitor"] * any(one.startswith(f"{port} does not answer") for one in said)
            parts += ["three nodes"] * (len(report["nodes"]) == 3) + ["gateways"] * bool(report["gateways"])
        say(f"        cluster check, while all are busy: {busy or 'no node'}; of a killed one: {', '.join(parts) or 'nothing'}")
        self.faults += look_faults(what, busy, parts)

    def make_base(self, what, gateway, index):
        """The newest base goes, so one is due; then a gateway without a view begins with it."""
        before = self.cluster.first_entry()
        self.cluster.forget_base()
        # One look a minute; 90 s more after a try that met the fault before this one, and 120 s after a second.
        end = time.monotonic() + 300
        while time.monotonic() < end and self.cluster.first_entry() <= before:
            time.sleep(0.5)
        after = self.cluster.first_entry()
        if after <= before:
            say(f"        no base: {self.cluster.why_no_base()}")
        former = self.cluster.bases_begun_with(gateway)
        gateway.kill()
        self.cluster.remove_view(index)
        gateway.start()
        self.wait(what)
        begun = self.cluster.bases_begun_with(gateway) - former
        say(f"        the journal begins at {after} instead of {before}; {gateway.name} began with a base: {'yes' if begun else 'no'}")
        self.faults += base_faults(what, before, after, begun)

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


def flip(folder, pick):
    """How many bits were flipped in the blocks of a node's copy of the journal: one in each 4 KiB, on average."""
    flipped = 0
    for path, _, names in os.walk(folder):
        for name in names if "_JOURNAL" in path else []:
            if name.endswith(".blk"):
                with open(os.path.join(path, name), "r+b") as block:
                    size = block.seek(0, os.SEEK_END)
                    for _ in range(size // 4096 + bool(size)):
                        place = pick.randrange(size)
                        block.seek(place)
                        byte = block.read(1)[0]
                        block.seek(place)
                        block.write(bytes([byte ^ 1 << pick.randrange(8)]))
                        flipped += 1
    return flipped


# What each kind of fault must have done. --self-test shows that each can fail.

def cut_faults(what, dropped):
    return [] if dropped and all(dropped) else [f"{what}: the cut has dropped nothing: {dropped}"]


def relay_faults(what, passed, lost, overtaken, longest):
    how, faults = RELAYS[what], []
    if not passed:
        faults.append(f"{what}: no packet has passed")
    if ("loss" in how or "without" in what) != bool(lost):
        faults.append(f"{what}: {lost} packets were lost")
    if "delay" in how and not (overtaken and longest >= how["delay"][1] / 2):
        faults.append(f"{what}: {overtaken} packets were overtaken, {longest} s at most")
    return faults


def lease_faults(what, others, every):
    faults = [] if others == LEASES else [f"{what}: the other gateways hold {others} leases instead of {LEASES}"]
    return faults + ([] if every == LEASES else [f"{what}: all gateways hold {every} leases instead of {LEASES}"])


def end_faults(what, name, status):
    """nats-server before 2.12 ends with 1."""
    return [] if status == 0 or status == 1 and name.startswith("node") else [f"{what}: {name} ended with {status}"]


def peer_faults(what, former, wanted, peers, answer):
    faults = [] if '"success":true' in answer else [f"{what}: {former} is not removed: {answer or 'no answer'}"]
    return faults + ([] if peers == wanted else [f"{what}: the journal is on {sorted(map(str, peers))}"])


def damage_faults(what, flipped, leads):
    return [f"{what}: no bits were flipped"] * (not flipped) + [f"{what}: the node does not lead"] * (not leads)


def old_faults(what, led, goes_on, status, words, checked, said):
    faults = [f"{what}: nodes did not lead as they should: {led}"] * (not all(led))
    faults += [f"{what}: gateways that ran do not go on"] * (not goes_on)
    for who, code, text in (("a gateway", status, words), ("cluster check", checked, said)):
        if code != os.EX_CONFIG or "nats-server is too old: it is 2." not in text:
            faults.append(f"{what}: {who} ended with {code}: {text}")
    return faults


def look_faults(what, busy, parts):
    faults = [f"{what}: cluster check names a node that is well: {busy}"] * bool(busy)
    return faults + [f"{what}: of a killed node cluster check tells only: {parts}"] * (len(parts) != 4)


def disk_faults(what, name, is_ready, is_named, said, wanted, peers):
    faults = [f"{what}: gateways are not ready with two nodes"] * (not is_ready)
    faults += [f"{what}: cluster check does not name {name}"] * (not is_named)
    faults += [] if "write error" in said else [f"{what}: {name} does not tell of an error: {said or 'nothing'}"]
    return faults + ([] if peers == wanted else [f"{what}: with its new disk the journal is on {sorted(map(str, peers))}"])


def result_faults(compared, problems):
    """Of `reprise cluster check`: it finds results and pasts that differ."""
    faults = [problem["message"] for problem in problems if problem["code"] == "corrupt"]
    return faults + ([] if compared else ["no two gateways have compared results"])


def base_faults(what, before, after, begun):
    faults = [] if after > before else [f"{what}: no entries went: the journal begins at {after}"]
    return faults + ([] if begun else [f"{what}: the gateway without a view did not begin with a base"])


def quantiles(waits):
    waits = sorted(waits) or [float("nan")]
    return f"{waits[len(waits) // 2]:8.3f}", f"{waits[int(len(waits) * 0.99)]:5.2f}", f"{waits[-1]:5.1f}"
