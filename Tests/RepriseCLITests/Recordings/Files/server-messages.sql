PRAGMA application_id = 1380995916;
PRAGMA user_version = 0;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES('1 messages');
INSERT INTO grdb_migrations VALUES('2 senders and changes');
INSERT INTO grdb_migrations VALUES('3 awaited');
INSERT INTO grdb_migrations VALUES('4 ids sealed in slices');
CREATE TABLE log (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  epoch TEXT NOT NULL,
  probes INTEGER NOT NULL DEFAULT 0
);
INSERT INTO log VALUES(1,'06c3fb56911f4f3e0ef692f1cf07558f',0);
CREATE TABLE channels (
  key INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  head INTEGER NOT NULL,
  floor INTEGER NOT NULL DEFAULT 0,
  count INTEGER NOT NULL,
  time INTEGER NOT NULL
, bytes INTEGER NOT NULL DEFAULT 0);
INSERT INTO channels VALUES(1,'club1',1,0,1,1795425980438,21);
CREATE TABLE recent_ids (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  channel INTEGER NOT NULL,
  seq INTEGER NOT NULL
);
INSERT INTO recent_ids VALUES(1,'person1-m1',1,1);
CREATE TABLE id_runs (
  run INTEGER PRIMARY KEY,
  newest INTEGER NOT NULL,
  filter BLOB NOT NULL
);
CREATE TABLE ids (
  run INTEGER NOT NULL,
  id TEXT NOT NULL,
  channel INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS "messages" (
  channel INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  prev INTEGER,
  id TEXT NOT NULL,
  time INTEGER NOT NULL,
  sender TEXT,
  change INTEGER,
  target INTEGER,
  deleted INTEGER,
  body BLOB NOT NULL,
  PRIMARY KEY (channel, seq)
) WITHOUT ROWID;
INSERT INTO messages VALUES(1,1,NULL,'person1-m1',1795425980438,'ada',NULL,NULL,NULL,X'7b2274657874223a224d657373616765206d31227d');
CREATE TABLE awaited (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  channel INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  UNIQUE (channel, seq)
);
CREATE TABLE recent_ids2 (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  channel INTEGER NOT NULL,
  seq INTEGER NOT NULL
);
DELETE FROM sqlite_sequence;
CREATE INDEX edits ON messages (channel, target) WHERE change = 1;
COMMIT;
