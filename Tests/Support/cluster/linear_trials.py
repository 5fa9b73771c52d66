"""Shows that linear.py can fail: histories written by hand, answers changed in real ones, and a comparison with all orders."""
import json

from linear import HOLDS, REFUSED, UNKNOWN, VIOLATED, Channel, ChannelModel, Operation, by_force, check, core, is_linearization

MODEL = ChannelModel()


def write(path, operations):
    with open(path, "w") as file:
        for one in sorted(operations, key=lambda one: one.called):
            fields = {name: getattr(one, name) for name in Operation.__slots__}
            print(json.dumps({**fields, "returned": one.returned if one.is_known else None}), file=file)


def read(path):
    """Lists are tuples again, so that answers compare."""
    def tuples(value):
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    with open(path) as file:
        return [Operation(**{name: tuples(value) for name, value in json.loads(line).items()}) for line in file]


# ada has made the channel and added bob.
START = [(-4, -3, "ada", "make", (), ("made",)), (-2, -1, "ada", "put", ("bob", "member"), ("put", True, "bob", "member", 0))]
# The same, of one that shows a member what comes after he has joined.
SINCE_JOIN = [(-4, -3, "ada", "make", ("sinceJoin",), ("made",)), (-2.9, -2.5, "ada", "publish", ("m0",), ("stored", 1, False)),
              (-2, -1, "ada", "put", ("bob", "member"), ("put", True, "bob", "member", 1))]


def history(*lines, start=START):
    """Each line: when it was called and returned, by whom, what, and the answer."""
    return [Operation(kind, user, words, answer, called, returned) for called, returned, user, kind, words, answer in start + list(lines)]


ADA, BOB = ("ada", "owner", 0), ("bob", "member", 0)


def logged(*ids):
    return ("messages",) + tuple((id, "bob", None, None) for id in ids)


# Of as many joins nobody knows the outcome; each set of them comes to another state, and none to what is read.
UNKNOWN_JOINS = history(
    *[(0, 1, "ada", "put", (f"u{number}", "member"), UNKNOWN) for number in range(14)], (2, 3, "ada", "members", (), ("members", ADA)))

# A name, what is to be found, and the history.
BY_HAND = [
    ("one after the other", HOLDS, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "ada", "messages", (0,), logged("m1")),
        (4, 5, "ada", "members", (), ("members", ADA, BOB)))),
    ("two at once, in either order", HOLDS, history(
        (0, 9, "bob", "publish", ("m1",), ("stored", 2, False)), (0, 9, "bob", "publish", ("m2",), ("stored", 1, False)),
        (1, 2, "ada", "messages", (0,), logged("m2")))),
    ("a read beside a publish has it, or not", HOLDS, history(
        (0, 9, "bob", "publish", ("m1",), ("stored", 1, False)), (1, 2, "ada", "head", (), ("head", 0)), (3, 4, "ada", "head", (), ("head", 1)))),
    ("a stale read", VIOLATED, history(
        (0, 1, "ada", "remove", ("bob",), ("removed",)), (2, 3, "ada", "members", (), ("members", ADA, BOB)))),
    ("a lost update", VIOLATED, history(
        (0, 1, "ada", "put", ("bob", "owner"), ("put", False, "bob", "owner", 0)),
        (0, 1, "ada", "put", ("cleo", "member"), ("put", True, "cleo", "member", 0)),
        (2, 3, "ada", "members", (), ("members", ADA, BOB, ("cleo", "member", 0))))),
    ("an acknowledged publish is missing", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "ada", "messages", (0,), logged()))),
    ("the author was removed before", VIOLATED, history(
        (0, 1, "ada", "remove", ("bob",), ("removed",)), (2, 3, "bob", "publish", ("m1",), ("stored", 1, False)))),
    ("the author was removed at the same time", HOLDS, history(
        (0, 3, "ada", "remove", ("bob",), ("removed",)), (2, 4, "bob", "publish", ("m1",), ("stored", 1, False)))),
    ("a read goes back", VIOLATED, history(
        (0, 9, "bob", "publish", ("m1",), ("stored", 1, False)), (1, 2, "ada", "head", (), ("head", 1)), (3, 4, "ada", "head", (), ("head", 0)))),
    ("one id, two sequences", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "bob", "publish", ("m1",), ("stored", 2, True)))),
    ("one id, stored twice", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "bob", "publish", ("m1",), ("stored", 2, False)),
        (4, 5, "ada", "messages", (0,), logged("m1", "m1")))),
    ("one sequence, two ids", VIOLATED, history(
        (0, 9, "bob", "publish", ("m1",), ("stored", 1, False)), (0, 9, "bob", "publish", ("m2",), ("stored", 1, False)))),
    ("a new owner is refused", VIOLATED, history(
        (0, 1, "ada", "put", ("bob", "owner"), ("put", False, "bob", "owner", 0)), (2, 3, "bob", "put", ("cleo", "member"), REFUSED))),
    ("a member adds somebody", VIOLATED, history((0, 1, "bob", "put", ("cleo", "member"), ("put", True, "cleo", "member", 0)))),
    ("a former owner deletes another's message", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)),
        (2, 3, "ada", "put", ("ada", "member"), ("put", False, "ada", "member", 0)),
        (4, 5, "ada", "erase", ("m2", "m1"), ("stored", 2, False)))),
    ("a deletion is forgotten", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "ada", "erase", ("m2", "m1"), ("stored", 2, False)),
        (4, 5, "bob", "marks", (0, 1), ("marks", False)))),
    ("a position goes back", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "bob", "move", (1,), ("at", 1)),
        (4, 5, "bob", "position", (), ("at", 0)))),
    ("a member joins behind the head", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)),
        (2, 3, "ada", "put", ("cleo", "member"), ("put", True, "cleo", "member", 0)))),
    ("an unknown publish is there later", HOLDS, history(
        (0, 1, "bob", "publish", ("m1",), UNKNOWN), (2, 3, "ada", "head", (), ("head", 0)), (4, 5, "ada", "messages", (0,), logged("m1")))),
    ("an unknown publish is never there", HOLDS, history(
        (0, 1, "bob", "publish", ("m1",), UNKNOWN), (2, 3, "bob", "publish", ("m2",), ("stored", 1, False)),
        (4, 5, "ada", "messages", (0,), logged("m2")))),
    ("an unknown publish is there before it was called", VIOLATED, history(
        (0, 1, "ada", "messages", (0,), logged("m1")), (2, 3, "bob", "publish", ("m1",), UNKNOWN))),
    ("an unknown publish is there, then not", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), UNKNOWN), (2, 3, "ada", "head", (), ("head", 1)), (4, 5, "ada", "head", (), ("head", 0)))),
    ("an unknown removal explains a refusal", HOLDS, history(
        (0, 1, "ada", "remove", ("bob",), UNKNOWN), (2, 3, "bob", "publish", ("m1",), ("stored", 1, False)),
        (4, 5, "bob", "publish", ("m2",), REFUSED))),
    ("a removal and a return explain both", HOLDS, history(
        (0, 1, "ada", "remove", ("bob",), UNKNOWN), (0, 1, "ada", "put", ("bob", "member"), UNKNOWN),
        (2, 3, "bob", "may", (), REFUSED), (4, 5, "bob", "may", (), ("yes",)), (6, 7, "ada", "role", (), ("role", "owner", 0)))),
    ("one removal does not explain two", VIOLATED, history(
        (0, 1, "ada", "remove", ("bob",), UNKNOWN), (2, 3, "bob", "may", (), REFUSED), (4, 5, "bob", "may", (), ("yes",)),)),
    ("an edit of another's message", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "ada", "edit", ("m2", "m1"), ("stored", 2, False)))),
    ("an edit of a deleted message", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "ada", "erase", ("m2", "m1"), ("stored", 2, False)),
        (4, 5, "bob", "edit", ("m3", "m1"), ("stored", 3, False)))),
    ("an edit and a deletion at once, in either order", HOLDS, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 9, "ada", "erase", ("m2", "m1"), ("stored", 3, False)),
        (2, 9, "bob", "edit", ("m3", "m1"), ("stored", 2, False)), (10, 11, "bob", "marks", (0, 3), ("marks", True, True, False)))),
    ("an edit stays when its message is deleted", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "bob", "edit", ("m2", "m1"), ("stored", 2, False)),
        (4, 5, "ada", "erase", ("m3", "m1"), ("stored", 3, False)), (6, 7, "bob", "marks", (0, 2), ("marks", True, False)))),
    ("an edit is read as a message", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 1, False)), (2, 3, "bob", "edit", ("m2", "m1"), ("stored", 2, False)),
        (4, 5, "ada", "messages", (0,), logged("m1", "m2")))),
    ("a mute is forgotten", VIOLATED, history(
        (0, 1, "bob", "mute", (True,), ("muted", True)), (2, 3, "bob", "muted", (), ("is", False)))),
    ("a mute ends at the same time", HOLDS, history(
        (0, 1, "bob", "mute", (True,), ("muted", True)), (2, 9, "bob", "mute", (False,), ("muted", False)),
        (3, 4, "bob", "muted", (), ("is", True)), (5, 6, "bob", "muted", (), ("is", False)))),
    ("another one's mute", VIOLATED, history(
        (0, 1, "bob", "mute", (True,), ("muted", True)), (2, 3, "ada", "muted", (), ("is", True)))),
    ("a member reads from where he joined", HOLDS, history(
        (0, 1, "bob", "reach", (0,), ("behind", 1)), (0, 1, "ada", "reach", (0,), ("behind", 0)), (2, 3, "root", "reach", (0,), ("behind", 0)),
        (2, 3, "bob", "reach", (7,), ("behind", 7)), start=SINCE_JOIN)),
    ("a member reads what was before him", VIOLATED, history(
        (0, 1, "bob", "reach", (0,), ("behind", 0)), start=SINCE_JOIN)),
    ("an owner who came later reads from there, too", HOLDS, history(
        (0, 1, "ada", "put", ("bob", "owner"), ("put", False, "bob", "owner", 1)), (2, 3, "bob", "reach", (0,), ("behind", 1)), start=SINCE_JOIN)),
    ("who leaves and comes back reads from then on", VIOLATED, history(
        (0, 1, "bob", "publish", ("m1",), ("stored", 2, False)), (2, 3, "ada", "remove", ("bob",), ("removed",)),
        (4, 5, "ada", "put", ("bob", "member"), ("put", True, "bob", "member", 2)), (6, 7, "bob", "reach", (0,), ("behind", 1)), start=SINCE_JOIN)),
    ("permission and content of one moment", VIOLATED, history(
        (0, 1, "ada", "remove", ("bob",), ("removed",)), (0, 3, "bob", "publish", ("m1",), ("stored", 1, False)),
        (2, 3, "ada", "publish", ("m2",), ("stored", 2, False)),
        (0, 9, "bob", "whole", (("may", ()), ("head", ())), (("yes",), ("head", 2))))),
    ("the same, of two moments", HOLDS, history(
        (0, 1, "ada", "remove", ("bob",), ("removed",)), (0, 3, "bob", "publish", ("m1",), ("stored", 1, False)),
        (2, 3, "ada", "publish", ("m2",), ("stored", 2, False)),
        (0, 9, "bob", "may", (), ("yes",)), (0, 9, "bob", "head", (), ("head", 2)))),
]


def long_history(joined, size=20):
    """cleo was added at the third of many messages, nobody knows, and it shows at the end; of mutes and a role that are as unknown
    nothing shows. Others wait for their answers meanwhile."""
    users = ["ada", "bob", "dan", "eve"]
    return history(
        *((0, 0, user, "mute", (is_muted,), UNKNOWN) for user in users for is_muted in (True, False)),
        (0, 0, "ada", "put", ("cleo", "member"), UNKNOWN), (0, 0, "ada", "put", ("bob", "owner"), UNKNOWN),
        *((0, 9 * size, user, "move", (1,), ("at", 1)) for user in users[:2] for _ in range(4)),
        *((0, 9 * size, f"{user}{number}", "mute", (True,), ("muted", True)) for user in users for number in (1, 2)),
        *((2 * seq, 2 * seq + 1, "bob", "publish", (f"m{seq}",), ("stored", seq, False)) for seq in range(1, size + 1)),
        (8 * size, 9 * size, "ada", "role", (), ("role", "owner", 0)),
        (8 * size, 9 * size, "root", "members", (), ("members", ADA, BOB, ("cleo", "member", joined))))


def random_history(pick, size):
    """Operations that took effect one after the other, some unknown; called a little before, returned a little after. Of half of the
    histories one answer is another one."""
    state, operations = ChannelModel.FIRST, []
    ids, history_kind = ["m1", "m2"], pick.choice(["all", "sinceJoin"])
    for moment in range(size):
        user, whom = pick.choice(["ada", "bob", "root"]), pick.choice(["ada", "bob"])
        kind, words = pick.choice([
            ("make", ()), ("put", (whom, pick.choice(["owner", "member"]))), ("remove", (whom,)), ("publish", (pick.choice(ids),)),
            ("publish", (pick.choice(ids),)), ("erase", ("m3", "m1")), ("move", (pick.randrange(3),)), ("may", ()), ("members", ()),
            ("remove", (whom,)), ("messages", (pick.randrange(2),)), ("marks", (0, 2)), ("role", ()), ("head", ()), ("position", ()),
            ("edit", ("m4", "m1")), ("mute", (pick.random() < 0.5,)), ("muted", ()), ("reach", (pick.randrange(2),)),
            ("whole", (("may", ()), ("messages", (0,))))])
        if moment == 0:
            kind, user, words = "make", "ada", (history_kind,)
        elif kind == "make":
            words = (history_kind,)
        one = Operation(kind, user, words, REFUSED, moment - pick.uniform(0, 3), moment + pick.uniform(0, 3))
        after, answer = MODEL.apply(state, one)
        is_unknown = pick.random() < 0.2
        if not is_unknown or pick.random() < 0.5:
            state = after
        operations.append(one.replacing(answer=UNKNOWN if is_unknown else answer))
    if pick.random() < 0.5:
        index = pick.randrange(size)
        one = operations[index]
        if one.is_known:
            # What it would have been told in another state.
            other = Channel(pick.choice([None, (ADA,), (ADA, BOB), (BOB,)]), (("m1", "bob", None, None),) * pick.randrange(2), ())
            operations[index] = one.replacing(answer=MODEL.apply(other, one)[1])
    return operations


def mutants(operations, pick):
    """Kinds of faults, and for each the history with one such fault in it, or None where it has no place.

    A few of the histories that come of it are linearizable as well, as a list of members that is the same after two changes.
    """
    known = [one for one in operations if one.is_known]

    def any_of(some):
        some = list(some)
        return pick.choice(some) if some else None

    def instead(one, **changes):
        return [other.replacing(**changes) if other is one else other for other in operations]

    def earlier(kinds):
        """A read answered as one that had returned before it was called, and was answered otherwise."""
        pairs = [(old, new) for new in known if new.kind in kinds for old in known
                 if (old.kind, old.words) == (new.kind, new.words) and (new.kind not in ("position", "muted", "reach") or old.user == new.user)
                 and old.returned < new.called and old.answer != new.answer]
        pair = any_of(pairs)
        return pair and instead(pair[1], answer=pair[0].answer)

    yield "the members of an earlier read", earlier(["members"])
    yield "the messages of an earlier read", earlier(["messages"])
    yield "the head of an earlier read", earlier(["head"])
    yield "the mute of an earlier read", earlier(["muted"])
    yield "what an earlier member could read", earlier(["reach"])

    one = any_of(one for one in known if one.kind == "muted")
    yield "a mute is forgotten, or invented", one and instead(one, answer=("is", not one.answer[1]))
    one = any_of(one for one in known if one.kind == "reach" and one.answer != REFUSED and one.answer[1] > one.words[0])
    yield "a member reads what was before him", one and instead(one, answer=("behind", one.words[0]))
    one = any_of(one for one in known if one.kind == "edit" and one.answer in (REFUSED, ("missing",)))
    yield "a refused edit is acknowledged", one and instead(one, answer=("stored", 1 + sum(
        other.kind in ChannelModel.STORED and other.answer[0] == "stored" and not other.answer[2] and other.returned < one.called
        for other in known), False))
    pair = any_of((one, index) for one in known if one.kind == "messages" for index, part in enumerate(one.answer[1:], 1) if part[3] is not None)
    yield "an edit is read as a message", pair and instead(pair[0], answer=pair[0].answer[:pair[1]] + (
        pair[0].answer[pair[1]][:3] + (None,),) + pair[0].answer[pair[1] + 1:])
    one = any_of(one for one in known if one.kind == "messages" and "WebSocket" in one.detail and len(one.answer) > 2)
    yield "the last message is missing at a WebSocket", one and instead(one, answer=one.answer[:-2] + one.answer[-1:])
    one = any_of(one for one in known if one.kind == "publish" and "WebSocket" in one.detail and one.answer[0] == "stored" and not one.answer[2])
    yield "a WebSocket's message is lost", one and [other for other in operations if other is not one]

    reads = [one for one in known if one.kind == "messages" and len(one.answer) > 2]
    one = any_of(reads)
    if one:
        index = pick.randrange(1, len(one.answer))
        yield "a message is missing in a read", instead(one, answer=one.answer[:index] + one.answer[index + 1:])
        index = pick.randrange(1, len(one.answer) - 1)
        swapped = one.answer[:index] + (one.answer[index + 1], one.answer[index]) + one.answer[index + 2:]
        yield "two messages change places in a read", instead(one, answer=swapped)
    one = any_of(one for one in known if one.kind == "publish" and one.answer[0] == "stored")
    yield "another sequence is acknowledged", one and instead(one, answer=("stored", one.answer[1] + 1, one.answer[2]))
    one = any_of(one for one in known if one.kind == "publish" and one.answer == REFUSED)
    yield "a refused publish is acknowledged", one and instead(one, answer=("stored", 1 + sum(
        other.kind in ChannelModel.STORED and other.answer[0] == "stored" and not other.answer[2] and other.returned < one.called
        for other in known), False))
    one = any_of(one for one in known if one.kind == "publish" and one.answer[0] == "stored")
    yield "a stored publish is refused", one and instead(one, answer=REFUSED)
    one = any_of(one for one in known if one.kind == "may")
    yield "a reader is let in, or is not", one and instead(one, answer=("yes",) if one.answer == REFUSED else REFUSED)
    one = any_of(one for one in known if one.kind == "put" and one.answer != REFUSED and one.answer[1])
    yield "somebody joined whom nobody added", one and [other for other in operations if other is not one]
    one = any_of(one for one in known if one.kind == "remove" and one.answer == REFUSED)
    yield "a refused removal is acknowledged", one and instead(one, answer=("removed",))
    pair = any_of((one, other) for one in known for other in known
                  if one.kind == other.kind in ("members", "messages", "head") and one.words == other.words and one.answer != other.answer
                  and one.detail != other.detail and one.returned < other.called)
    yield "two reads change answers", pair and [
        one.replacing(answer=pair[1 - pair.index(one)].answer) if one in pair else one for one in operations]


def detection(model, histories, pick, count, limit=20_000):
    """For each kind of fault how many histories were changed, and in how many that was noticed."""
    found = {}
    for _ in range(count if histories else 0):
        for kind, changed in mutants(pick.choice(histories), pick):
            if changed:
                times, noticed = found.get(kind, (0, 0))
                found[kind] = (times + 1, noticed + (check(model, changed, limit).word == VIOLATED))
    return found


def self_test(pick, rounds=5_000):
    """What is wrong with the search, in words."""
    wrong = []
    for name, word, operations in BY_HAND:
        verdict, forced = check(MODEL, operations), by_force(MODEL, operations)
        if verdict.word != word or forced != (word == HOLDS):
            wrong.append(f"{name}: {verdict.word}, and {'holds' if forced else 'violated'} by force; it is {word}")
        if verdict.word == VIOLATED and check(MODEL, core(MODEL, operations)).word != VIOLATED:
            wrong.append(f"{name}: what is left of it is no violation")
    counts = {HOLDS: 0, VIOLATED: 0}
    for _ in range(rounds):
        operations = random_history(pick, pick.randint(2, 6))
        verdict, forced = check(MODEL, operations), by_force(MODEL, operations)
        counts[HOLDS if forced else VIOLATED] += 1
        if verdict.word != (HOLDS if forced else VIOLATED):
            wrong.append(f"{verdict.word}, and not by force: " + "; ".join(map(str, operations)))
        elif forced and not is_linearization(MODEL, verdict.order):
            wrong.append("what was found is no linearization: " + "; ".join(map(str, operations)))
    for joined, word in ((3, HOLDS), (21, VIOLATED)):
        verdict = check(MODEL, long_history(joined), limit=2_100)
        if verdict.word != word:
            wrong.append(f"a long history, cleo joined at {joined}: {verdict.word} after {verdict.steps} steps; it is {word}")
    if check(MODEL, BY_HAND[-1][2], limit=0).word != "undecided":
        wrong.append("a search without steps decides")
    steps = check(MODEL, UNKNOWN_JOINS, limit=100).steps
    if steps > 101:
        wrong.append(f"a search of at most 100 steps takes {steps}")
    if min(counts.values()) < rounds // 20:
        wrong.append(f"the random histories are all alike: {counts}")
    print(f"{len(BY_HAND)} histories by hand, {counts[HOLDS]} random ones that hold and {counts[VIOLATED]} that do not, compared with all orders")
    return wrong
