#!/usr/bin/env python3
"""What a commit of the server's log writes, by the layout of its tables.

usage: python3 Benchmarks/log-layout.py [STORED MESSAGES] [COMMITS]

100 channels, 32 messages a commit from channels at random, 300 bytes each, after STORED messages
(200,000). Write-ahead log, every commit synced; checkpoints by the writer at 1,000 pages. Pages are
counted in the write-ahead log. Catch-up reads one channel whole.
"""
import os
import random
import sqlite3
import sys
import tempfile
import time

CHANNELS, BATCH, TURN = 100, 32, 4_096
BODY = bytes(range(256)) + bytes(44)
COLUMNS = "channel INTEGER, seq INTEGER, prev INTEGER, id TEXT, time INTEGER, body BLOB"
BY_CHANNEL = f"CREATE TABLE messages ({COLUMNS}, PRIMARY KEY (channel, seq)) WITHOUT ROWID;"
ARRIVAL = "CREATE TABLE {} (n INTEGER PRIMARY KEY, " + COLUMNS + ");"


class Layout:
    """Today's: one table by channel."""

    name, schema = "by channel, as today", BY_CHANNEL

    def __init__(self, db):
        self.db, self.n, self.heads, self.random = db, 0, [0] * CHANNELS, random.Random(7)
        db.executescript(
            "CREATE TABLE channels (key INTEGER PRIMARY KEY, head INTEGER, time INTEGER);"
            "CREATE TABLE recent_ids (n INTEGER PRIMARY KEY, id TEXT, channel INTEGER, seq INTEGER);"
            + self.schema)
        db.executemany("INSERT INTO channels VALUES (?, 0, 0)", ((c,) for c in range(CHANNELS)))

    def commit(self, count):
        self.db.execute("BEGIN IMMEDIATE")
        touched = set()
        for _ in range(count):
            channel = self.random.randrange(CHANNELS)
            self.n += 1
            self.heads[channel] += 1
            touched.add(channel)
            seq, name = self.heads[channel], "%032x" % self.random.getrandbits(128)
            self.insert(channel, (channel, seq, seq - 1, name, self.n, BODY))
            self.db.execute("INSERT INTO recent_ids VALUES (?,?,?,?)", (self.n, name, channel, seq))
        for channel in touched:
            self.db.execute("UPDATE channels SET head = ?, time = ? WHERE key = ?",
                            (self.heads[channel], self.n, channel))
        self.after(count)
        self.db.execute("COMMIT")

    def insert(self, channel, row):
        self.db.execute("INSERT INTO messages VALUES (?,?,?,?,?,?)", row)

    def after(self, count):
        pass

    def read(self, channel):
        return self.db.execute(
            "SELECT body FROM messages WHERE channel = ? ORDER BY seq", (channel,)).fetchall()


class Indexed(Layout):
    name = "in order of arrival, with an index by channel"
    schema = ARRIVAL.format("messages") + "CREATE UNIQUE INDEX place ON messages (channel, seq);"

    def insert(self, channel, row):
        self.db.execute("INSERT INTO messages VALUES (?,?,?,?,?,?,?)", (self.n,) + row)


class Moved(Layout):
    """Two tables by arrival take turns of 4,096; the full one is moved by channel meanwhile."""

    name = "in order of arrival, then moved by channel"
    schema = ARRIVAL.format("a0") + ARRIVAL.format("a1") + BY_CHANNEL
    fresh, full, filled = "a0", "a1", 0

    def __init__(self, db):
        super().__init__(db)
        self.todo, self.rows = [], {"a0": {}, "a1": {}}

    def insert(self, channel, row):
        self.db.execute(f"INSERT INTO {self.fresh} VALUES (?,?,?,?,?,?,?)", (self.n,) + row)
        self.rows[self.fresh].setdefault(channel, []).append(self.n)
        self.filled += 1

    def after(self, count):
        moved = 0
        while self.todo and moved < 2 * count:
            rows = self.rows[self.full].pop(self.todo.pop())
            self.db.execute(
                f"INSERT INTO messages SELECT channel, seq, prev, id, time, body FROM {self.full} "
                f"WHERE n IN ({','.join(map(str, rows))}) ORDER BY seq")
            moved += len(rows)
            if not self.todo:
                self.db.execute(f"DELETE FROM {self.full}")
        if self.filled >= TURN and not self.todo:
            self.fresh, self.full, self.filled = self.full, self.fresh, 0
            self.todo = sorted(self.rows[self.full])

    def read(self, channel):
        return super().read(channel) + [
            row for table in (self.full, self.fresh) for row in self.db.execute(
                f"SELECT body FROM {table} WHERE channel = ? ORDER BY seq", (channel,))]


def measure(kind, folder, stored, commits):
    path = os.path.join(folder, kind.__name__)
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -64000;")
    log = kind(db)
    while log.n < stored:
        log.commit(1_024)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    times, pages, waiting = [], 0, 0
    for _ in range(commits):
        start = time.perf_counter()
        log.commit(BATCH)
        times.append(1_000 * (time.perf_counter() - start))
        waiting = (os.path.getsize(path + "-wal") - 32) // 4_120
        if waiting >= 1_000:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            pages, waiting = pages + waiting, 0
    times.sort()
    start = time.perf_counter()
    rows = len(log.read(5))
    rate = rows / (time.perf_counter() - start) / 1_000
    assert rows == log.heads[5], "a message is missing"
    print(f"{kind.name:46} {(pages + waiting) / commits:5.1f} pages a commit, p50 "
          f"{times[len(times) // 2]:5.2f} ms, p99 {times[len(times) * 99 // 100]:6.2f} ms; "
          f"catch-up {rate:,.0f} k messages/s; {os.path.getsize(path) / log.n:.0f} B a message")
    db.close()


def main():
    stored, commits = ([int(word) for word in sys.argv[1:]] + [200_000, 2_000][len(sys.argv) - 1:])
    with tempfile.TemporaryDirectory() as folder:
        for kind in (Layout, Indexed, Moved):
            measure(kind, folder, stored, commits)


if __name__ == "__main__":
    main()
