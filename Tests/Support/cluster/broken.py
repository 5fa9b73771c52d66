"""Evidence of scripts/chaos that is broken on purpose, in each way that its checks must notice."""
import copy
import sys
import types

import faults


class Evidence:
    """Three gateways with one channel, and two devices that have published to it."""

    def __init__(self, channel):
        self.gateways, self.channel = [0, 1, 2], channel
        log = [{"seq": seq, "id": f"d{seq % 2}-{(seq - 1) // 2}", "body": seq} for seq in range(1, 9)]
        self.logs = [(copy.deepcopy(log), "epoch") for _ in self.gateways]
        self.devices = [types.SimpleNamespace(
            number=number, channel=channel, made=4, isDone=True, faults=[], state={"outbox": [], "coverage": [[0, 8]]},
            acknowledged={one["id"]: one["seq"] for one in log if one["id"].startswith(f"d{number}-")},
            seen={one["seq"]: one["id"] for one in log}) for number in (0, 1)]

    def log(self, gateway, channel):
        return self.logs[gateway] if channel == self.channel else ([], "epoch")


def swap(log):
    log[2], log[4] = dict(log[4], seq=3), dict(log[2], seq=5)


def cannot_be_read(*_):
    raise OSError("refused")


LOGS = {
    "an acknowledged message is lost": lambda one: [log.pop() for log, _ in one.logs],
    "it is lost at one gateway": lambda one: one.logs[2][0].pop(),
    "an id is there twice": lambda one: [log.append(dict(log[0], seq=9)) for log, _ in one.logs],
    "two messages are exchanged": lambda one: [swap(log) for log, _ in one.logs],
    "a sequence is left out": lambda one: [log[7].update(seq=10) for log, _ in one.logs],
    "a body differs": lambda one: one.logs[1][0][0].update(body="other"),
    "an epoch differs": lambda one: one.logs.__setitem__(2, (one.logs[2][0], "other")),
    "what was seen live is gone": lambda one: one.devices[0].seen.update({9: "x"}),
    "coverage has a hole": lambda one: one.devices[1].state.update(coverage=[[0, 3], [4, 8]]),
    "a device has not finished": lambda one: setattr(one.devices[1], "isDone", False),
    "a head went back": lambda one: one.devices[1].faults.append("the head went back from 2 to 1"),
    "a gateway does not answer": lambda one: setattr(one, "log", cannot_be_read),
}
OLD = "reprise: nats-server is too old: it is 2.12.2."
# What is right first, then what is not.
KINDS = [
    (faults.cut_faults, ("cut", [3, 1]), [("cut", [3, 0]), ("cut", [0, 0, 24, 36]), ("cut", [])]),
    (faults.relay_faults, ("disorder at leader", 9, 0, 5, 0.04),
     [("disorder at leader", 0, 0, 0, 0), ("disorder at leader", 9, 0, 0, 0.04), ("disorder at leader", 9, 0, 5, 0.001),
      ("disorder at leader", 9, 1, 5, 0.04)]),
    (faults.relay_faults, ("loss to gateway", 9, 1, 0, 0), [("loss to gateway", 9, 0, 0, 0)]),
    (faults.relay_faults, ("gateway without its node", 9, 1, 0, 0), [("gateway without its node", 9, 0, 0, 0)]),
    (faults.lease_faults, ("stop", 2, 2), [("stop", 1, 2), ("stop", 2, 1), ("stop", 2, 3)]),
    (faults.end_faults, ("restart", "gateway0", 0), [("restart", "gateway0", 1), ("restart", "gateway0", -9), ("restart", "node0", -9)]),
    (faults.peer_faults, ("replace", "a", {"b", "c"}, {"b", "c"}, '"success":true'),
     [("replace", "a", {"b", "c"}, {"b", "c"}, ""), ("replace", "a", {"b", "c"}, {"b", "a"}, '"success":true'),
      ("replace", "a", {"b", "c"}, {"b", None}, '"success":true')]),
    (faults.old_faults, ("old", [True, True], True, 78, OLD, 78, OLD),
     [("old", [True, False], True, 78, OLD, 78, OLD), ("old", [True, True], False, 78, OLD, 78, OLD), ("old", [True, True], True, None, OLD, 78, OLD),
      ("old", [True, True], True, 78, "no", 78, OLD), ("old", [True, True], True, 78, OLD, 1, OLD), ("old", [True, True], True, 78, OLD, 78, "{}")]),
    (faults.look_faults, ("old", [], [1, 2, 3, 4]), [("old", ["a is 1 entry behind."], [1, 2, 3, 4]), ("old", [], [1, 2, 3])]),
    (faults.disk_faults, ("failing", "a", True, True, "node write error: EIO", {"a", "b"}, {"a", "b"}),
     [("failing", "a", False, True, "node write error", {"a", "b"}, {"a", "b"}), ("failing", "a", True, False, "node write error", {"a", "b"}, {"a", "b"}),
      ("failing", "a", True, True, "", {"a", "b"}, {"a", "b"}), ("failing", "a", True, True, "node write error", {"a", "b"}, {"a", None})]),
    (faults.damage_faults, ("damage", 9, True), [("damage", 0, True), ("damage", 9, False)]),
    (faults.result_faults, (3, [{"code": "badConfiguration", "message": "few servers"}]),
     [(0, []), (3, [{"code": "corrupt", "message": "results differ"}])]),
    (faults.base_faults, ("base", 1, 9, 1), [("base", 1, 1, 1), ("base", 1, 9, 0)]),
]


def self_test(check, channel):
    """Whether the checks are silent on what is right, and find each of these."""
    wrong, count = [], 0

    def judge(what, found, wanted):
        nonlocal count
        count += 1
        if bool(found) != wanted:
            wrong.append(f"{what}: {found or 'not found'}")

    for what, change in {"nothing": lambda one: None, **LOGS}.items():
        evidence = Evidence(channel)
        change(evidence)
        judge(what, check(evidence, evidence.devices)[0], what != "nothing")
    for rule, right, others in KINDS:
        for words in (right, *others):
            judge(f"{rule.__name__}{words}", rule(*words), words is not right)
    for text in wrong:
        print("chaos: self-test:", text, file=sys.stderr)
    print(f"self-test: {count - len(wrong)} of {count} judged rightly")
    return 1 if wrong else 0
