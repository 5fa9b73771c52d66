"""Judges whether a history of concurrent operations is linearizable, after Wing and Gong (1993) with Lowe's memory (2017).

An operation was called, and perhaps it returned. It must have taken effect at one moment in between; one whose outcome is unknown at
any moment after its call, or never. The search puts operations in order one by one: next may be any that was called before the first
return among those left. What was reached before, by set and state, is not tried again. An operation that returned, fits, and changes
nothing is taken at once: a linearization in which it comes later stays one when it is moved here.

Operations without an outcome come in runs, each before one that returned and needs all of the run: without any of them it would have
another answer, or the state behind both would be another one. Else the linearization stays one when that is moved behind it, as nobody
waits for its return; of all linearizations, the one whose operations without an outcome come last has such runs alone.
What is independent of all else is judged by itself.

`ChannelModel` says what a channel answers to operations that come one after the other.
"""
import collections
import heapq
import itertools
import time

UNKNOWN = ("unknown",)
REFUSED = ("refused",)
HOLDS, VIOLATED, UNDECIDED = "holds", "violated", "undecided"
NEVER = float("inf")


class Operation:
    """What somebody asked for, when, and the answer. `detail` is for people."""

    __slots__ = ("kind", "user", "words", "answer", "called", "returned", "detail")

    def __init__(self, kind, user, words, answer, called, returned, detail=""):
        self.kind, self.user, self.words, self.answer = kind, user, words, answer
        self.called, self.returned, self.detail = called, NEVER if answer == UNKNOWN else returned, detail

    @property
    def is_known(self):
        return self.answer != UNKNOWN

    def replacing(self, **changes):
        return Operation(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def __str__(self):
        until = f"{self.returned:9.4f}" if self.is_known else "  unknown"
        return f"{self.called:9.4f} to {until} s  {self.user:5} {self.kind} {self.words} -> {short(self.answer)}  {self.detail}"


def short(answer, most=160):
    """As text; of a long one the beginning and the end."""
    text = str(answer)
    return text if len(text) <= most else f"{text[:most // 2]} … {text[-most // 2:]}"


class Verdict:
    """`order` is a linearization, or the longest one found; `blocked` what could come next and does not fit."""

    def __init__(self, word, steps, order, blocked=()):
        self.word, self.steps, self.order, self.blocked = word, steps, order, blocked


class Channel(collections.namedtuple("Channel", "members log positions mutes is_since_join", defaults=((), False))):
    """`members`: none before it is made, else (user, role, joined) by name. `log`: (id, author, the sequence it deletes or None, the one it
    edits or None). `positions`: (user, read). `mutes`: users who have muted it. `is_since_join`: what was before a member joined is not shown to him."""

    __slots__ = ()


class ChannelModel:
    """A private channel: docs/openapi.json, one operation after the other.

    `make`, `put`, `remove`, `publish`, `edit`, `erase`, `move` and `mute` change it. `may` is that somebody could read it, and `reach` from where
    on. `members`, `messages`, `marks`, `role`, `head`, `position` and `muted` are what was read: a gateway looks up the permission and each of
    these one after the other.
    """

    FIRST = Channel(None, (), ())
    STORED = ("publish", "edit", "erase")
    CHANGES = ("make", "put", "remove", "move", "mute") + STORED
    READS = ("whole", "may", "reach", "members", "messages", "marks", "role", "head", "position", "muted")

    def __init__(self, admins=("root",)):
        self.admins = admins

    def apply(self, channel, operation):
        """The channel behind an operation, and the answer."""
        return getattr(self, operation.kind)(channel, operation.user, *operation.words)

    def is_without_effect(self, operation):
        """Whether its answer says that it changed nothing, whenever it came."""
        answer = operation.answer
        return operation.is_known and (
            operation.kind in self.READS or answer in (REFUSED, ("kept",), ("missing",)) or answer[0] == "stored" and answer[2])

    def comes_at_once(self, state, operation):
        """Whether it fits and changes nothing here, and so in every linearization in which it comes later: positions only grow."""
        if not operation.is_known or operation.kind != "move" and not self.is_without_effect(operation):
            return False
        after, answer = self.apply(state, operation)
        return after == state and answer == operation.answer

    def object(self, operation):
        """Whose mute, or None for the rest of the channel: neither depends on the other, and no answer tells of both."""
        return operation.user if {kind for kind, _, _ in self.parts(operation)} <= {"mute", "muted"} else None

    def fits(self, operation, answer):
        return not operation.is_known or operation.answer == answer

    @staticmethod
    def member(channel, user):
        return next((one for one in channel.members or () if one[0] == user), None)

    def reads(self, channel, user):
        return user in self.admins or self.member(channel, user) is not None

    def manages(self, channel, user):
        member = self.member(channel, user)
        return user in self.admins or member is not None and member[1] == "owner"

    @staticmethod
    def with_member(channel, member):
        others = [one for one in channel.members if one[0] != member[0]]
        return channel._replace(members=tuple(sorted(others + [member])))

    def make(self, channel, user, history="all"):
        """All who make or change it give it the same history."""
        if channel.members is None:
            return channel._replace(members=((user, "owner", len(channel.log)),), is_since_join=history == "sinceJoin"), ("made",)
        return channel, ("kept",) if self.manages(channel, user) else REFUSED

    def put(self, channel, user, whom, role):
        joins = user == whom and role == "member" and self.reads(channel, user)
        if channel.members is None or not (self.manages(channel, user) or joins):
            return channel, REFUSED
        former = self.member(channel, whom)
        member = (whom, role, former[2] if former else len(channel.log))
        return self.with_member(channel, member), ("put", former is None) + member

    def remove(self, channel, user, whom):
        if not (self.manages(channel, user) or user == whom):
            return channel, REFUSED
        members = channel.members and tuple(one for one in channel.members if one[0] != whom)
        return channel._replace(members=members), ("removed",)

    @staticmethod
    def place(channel, id):
        return next((seq for seq, one in enumerate(channel.log, 1) if one[0] == id), None)

    def publish(self, channel, user, id, deletes=None, edits=None):
        if not self.reads(channel, user):
            return channel, REFUSED
        seq = self.place(channel, id)
        if seq is not None:
            return channel, ("stored", seq, True)
        return channel._replace(log=channel.log + ((id, user, deletes, edits),)), ("stored", len(channel.log) + 1, False)

    def edit(self, channel, user, id, target):
        """Of a message that is no edit and no deletion; its author alone may, and nobody once it is deleted."""
        seq = self.place(channel, target)
        if not self.reads(channel, user) or seq is not None and channel.log[seq - 1][1] != user:
            return channel, REFUSED
        if seq is None or seq in self.gone(channel):
            return channel, ("missing",)
        return self.publish(channel, user, id, edits=seq)

    def erase(self, channel, user, id, target):
        """Of a message that was acknowledged before."""
        seq = self.place(channel, target)
        if seq is None:
            return channel, ("missing",)
        if channel.log[seq - 1][1] != user and not self.manages(channel, user):
            return channel, REFUSED
        return self.publish(channel, user, id, seq)

    def move(self, channel, user, read):
        """The permission is another operation, as with reads."""
        former = dict(channel.positions).get(user, 0)
        now = max(former, min(read, len(channel.log)))
        others = tuple(one for one in channel.positions if one[0] != user)
        return channel._replace(positions=tuple(sorted(others + ((user, now),)))) if now > former else channel, ("at", now)

    def mute(self, channel, user, is_muted):
        """A member or not."""
        mutes = frozenset(channel.mutes) - {user} | ({user} if is_muted else set())
        return channel._replace(mutes=tuple(sorted(mutes))), ("muted", is_muted)

    def may(self, channel, user):
        return channel, ("yes",) if self.reads(channel, user) else REFUSED

    def reach(self, channel, user, after):
        """Behind which sequence somebody reads who asked for what is behind `after`."""
        if not self.reads(channel, user):
            return channel, REFUSED
        member = self.member(channel, user)
        joined = member[2] if channel.is_since_join and user not in self.admins else 0
        return channel, ("behind", max(after, joined))

    def members(self, channel, user):
        return channel, ("members",) + (channel.members or ())

    def messages(self, channel, user, after):
        return channel, ("messages",) + channel.log[after:]

    def marks(self, channel, user, after, through):
        """Which messages of a range are deleted, or edit one that is."""
        gone = self.gone(channel)
        edits = {seq: one[3] for seq, one in enumerate(channel.log, 1)}
        return channel, ("marks",) + tuple(seq in gone or edits.get(seq) in gone for seq in range(after + 1, through + 1))

    @staticmethod
    def gone(channel):
        return {one[2] for one in channel.log if one[2] is not None}

    def head(self, channel, user):
        return channel, ("head", len(channel.log))

    def role(self, channel, user):
        return channel, ("role",) + (self.member(channel, user) or (user, None, None))[1:]

    def position(self, channel, user):
        return channel, ("at", dict(channel.positions).get(user, 0))

    def muted(self, channel, user):
        return channel, ("is", user in channel.mutes)

    def whole(self, channel, user, *parts):
        """Several reads at one moment."""
        return channel, tuple(getattr(self, kind)(channel, user, *words)[1] for kind, words in parts)

    @staticmethod
    def parts(operation):
        """Kind, words and answer of each read in it, or of itself."""
        if operation.kind == "whole" and operation.is_known:
            return [(kind, words, answer) for (kind, words), answer in zip(operation.words, operation.answer)]
        return [(operation.kind, operation.words, operation.answer)]

    def pruning(self, operations):
        """Whether an operation may come next, judged by what others have seen of the log: it only grows.

        A message whose place was seen by anybody can only be stored there, and nothing else can.
        """
        places, ids = collections.defaultdict(set), collections.defaultdict(set)

        def saw(seq, id):
            places[id].add(seq)
            ids[seq].add(id)

        for kind, words, answer in (part for one in operations for part in self.parts(one)):
            if kind in self.STORED and answer[0] == "stored":
                saw(answer[1], words[0])
            elif kind == "messages" and answer[0] == "messages":
                for seq, (id, *_) in enumerate(answer[1:], words[0] + 1):
                    saw(seq, id)

        def may_come(channel, operation):
            if operation.kind not in self.STORED:
                return True
            id, seq = operation.words[0], len(channel.log) + 1
            return (not places[id] or seq in places[id]) and (not ids[seq] or id in ids[seq])

        return may_come


def check(model, operations, limit=200_000, may_come=None):
    """Searches for a linearization, in at most so many steps; it exists if each object has one (Herlihy and Wing, 1990)."""
    objects, steps, orders, undecided = collections.defaultdict(list), 0, [], None
    for one in operations:
        objects[model.object(one)].append(one)
    for some in objects.values():
        verdict = search(model, some, limit - steps, may_come)
        steps += verdict.steps
        if verdict.word == VIOLATED:
            return Verdict(VIOLATED, steps, verdict.order, verdict.blocked)
        undecided = undecided or (verdict if verdict.word == UNDECIDED else None)
        # The first return from each place on: in this order the orders are one.
        returns = list(itertools.accumulate((one.returned for one in reversed(verdict.order)), min))[::-1]
        orders.append(zip(returns, verdict.order))
    if undecided:
        return Verdict(UNDECIDED, steps, undecided.order)
    return Verdict(HOLDS, steps, [one for _, one in heapq.merge(*orders, key=lambda each: each[0])])


def search(model, operations, limit, may_come):
    """The same of one object."""
    operations = sorted((one for one in operations if one.is_known or one.kind in model.CHANGES), key=lambda one: one.called)
    wanted = sum(1 << index for index, one in enumerate(operations) if one.is_known)
    may_come = may_come or model.pruning(operations)
    by_return = sorted((index for index, one in enumerate(operations) if one.is_known), key=lambda index: operations[index].returned)
    reached, steps, best = set(), 0, (-1, None, model.FIRST, 0)

    def ordered(path):
        order = []
        while path:
            path, index = path
            order.append(operations[index])
        return order[::-1]

    def next_ones(done):
        """Those that were called before the first return among what is left; those that returned first come first."""
        end = next((operations[index].returned for index in by_return if not done >> index & 1), NEVER)
        left = []
        for index, one in enumerate(operations):
            if one.called > end:
                break
            if not done >> index & 1:
                left.append(index)
        return sorted(left, key=lambda index: operations[index].returned)

    def at_once(done, state, path):
        """Behind all that fits and changes nothing, and what may come next there."""
        is_still = False
        while not is_still:
            is_still, left = True, next_ones(done)
            for index in left:
                if model.comes_at_once(state, operations[index]):
                    done, path, is_still = done | 1 << index, (path, index), False
        return done, path, left

    def is_idle(state, run, last, after):
        """Whether one of these operations without an outcome may as well come behind the last one."""
        for index in run:
            other = state
            for each in run:
                if each != index:
                    other = model.apply(other, operations[each])[0]
            other, answer = model.apply(other, last)
            if model.fits(last, answer) and model.apply(other, operations[index])[0] == after:
                return True
        return False

    def successors(done, state, path, left):
        """Behind each operation with an outcome that may come next; before it those without one that it needs, the fewest first."""
        nonlocal steps
        runs, seen = collections.deque([(done, state, path, ())]), {(done, state)}
        while runs and steps <= limit:
            before, now, way, run = runs.popleft()
            steps += 1
            for index in left:
                one, then = operations[index], before | 1 << index
                if before >> index & 1:
                    continue
                after, answer = model.apply(now, one)
                if one.is_known:
                    if model.fits(one, answer) and (model.is_without_effect(one) or may_come(now, one)) and not is_idle(state, run, one, after):
                        yield then, after, (way, index)
                elif after != now and (then, after) not in seen and may_come(now, one):
                    seen.add((then, after))
                    runs.append((then, after, (way, index), run + (index,)))

    stack = [iter([(0, model.FIRST, None)])]
    while stack:
        node = next(stack[-1], None)
        if steps > limit:
            return Verdict(UNDECIDED, steps, ordered(best[1]))
        if node is None:
            stack.pop()
            continue
        done, state, path = node
        done, path, left = at_once(done, state, path)
        count = (done & wanted).bit_count()
        if count > best[0]:
            best = (count, path, state, done)
        if done & wanted == wanted:
            return Verdict(HOLDS, steps, ordered(path))
        if (done, state) not in reached:
            reached.add((done, state))
            stack.append(successors(done, state, path, left))
    _, path, state, done = best
    blocked = [(operations[index], model.apply(state, operations[index])[1]) for index in next_ones(done) if operations[index].is_known]
    return Verdict(VIOLATED, steps, ordered(path), blocked)


def prefix(operations, end):
    """What was known at that time: of a linearizable history it is linearizable as well."""
    return [one if one.returned <= end else one.replacing(answer=UNKNOWN) for one in operations if one.called <= end]


def core(model, operations, limit=100, seconds=8):
    """Of a violation a few answers that contradict each other, as far as the time goes.

    First all that came later is left out. Then answers are forgotten, by taking the outcome for unknown: what is still violated was so
    with them. Both keep a history that is linearizable so. The places of messages are known to the end: that keeps the search short.
    """
    may_come = model.pruning(operations)

    def is_violated(some):
        return check(model, some, limit, may_come).word == VIOLATED

    finish = time.monotonic() + seconds
    ends = sorted(one.returned for one in operations if one.is_known)
    low, high = 0, len(ends) - 1
    while low < high and time.monotonic() < finish:
        middle = (low + high) // 2
        if is_violated(prefix(operations, ends[middle])):
            high = middle
        else:
            low = middle + 1
    kept = prefix(operations, ends[high])
    # What is read goes first: each change without an outcome makes the search longer.
    for kinds in (model.READS, model.CHANGES):
        size = len(kept)
        while size and time.monotonic() < finish:
            for start in range(0, len(kept), size):
                fewer = [one.replacing(answer=UNKNOWN) if start <= index < start + size and one.kind in kinds else one
                         for index, one in enumerate(kept)]
                if time.monotonic() > finish:
                    break
                if any(one.is_known != other.is_known for one, other in zip(kept, fewer)) and is_violated(fewer):
                    kept = fewer
            size //= 2
    return [one for one in kept if one.is_known]


def by_force(model, operations):
    """Tries all orders of all subsets, without any of the above: what `check` is compared with."""
    known = [one for one in operations if one.is_known]
    others = [one for one in operations if not one.is_known]
    for count in range(len(others) + 1):
        for some in itertools.combinations(others, count):
            for order in itertools.permutations(known + list(some)):
                if is_linearization(model, order):
                    return True
    return False


def is_linearization(model, order):
    """Whether this order is one in time, and gives these answers. Of `check` it also verifies what it found."""
    state, latest = model.FIRST, -NEVER
    for one in order:
        latest = max(latest, one.called)
        if one.returned < latest:
            return False
        state, answer = model.apply(state, one)
        if not model.fits(one, answer):
            return False
    return True
