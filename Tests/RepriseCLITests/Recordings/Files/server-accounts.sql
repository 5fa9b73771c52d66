PRAGMA application_id = 1380991299;
PRAGMA user_version = 0;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES('1 accounts');
INSERT INTO grdb_migrations VALUES('2 forms');
INSERT INTO grdb_migrations VALUES('3 push');
INSERT INTO grdb_migrations VALUES('4 its log');
CREATE TABLE channels (
  name TEXT PRIMARY KEY,
  visibility TEXT NOT NULL,
  history TEXT NOT NULL,
  kept_messages INTEGER,
  kept_milliseconds INTEGER,
  kept_bytes INTEGER,
  title TEXT,
  maker TEXT,
  made INTEGER NOT NULL,
  members INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
INSERT INTO channels VALUES('club1','private','all',NULL,NULL,NULL,'The club1','ada',1795425979390,2);
INSERT INTO channels VALUES('team1','private','all',NULL,NULL,NULL,'The team1','ada',1795425979310,2);
CREATE TABLE members (
  channel TEXT NOT NULL,
  user TEXT NOT NULL,
  role TEXT NOT NULL,
  joined INTEGER NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (channel, user)
) WITHOUT ROWID;
INSERT INTO members VALUES('club1','ada','owner',0,1795425979390);
INSERT INTO members VALUES('club1','person1','member',0,1795425979425);
INSERT INTO members VALUES('team1','ada','owner',0,1795425979310);
INSERT INTO members VALUES('team1','person1','member',0,1795425979348);
CREATE TABLE positions (
  channel TEXT NOT NULL,
  user TEXT NOT NULL,
  read INTEGER NOT NULL,
  delivered INTEGER NOT NULL,
  PRIMARY KEY (channel, user)
) WITHOUT ROWID;
INSERT INTO positions VALUES('club1','person1',0,1);
CREATE TABLE devices (
  user TEXT NOT NULL,
  id TEXT NOT NULL,
  platform TEXT,
  push_token TEXT,
  seen INTEGER NOT NULL, push_since INTEGER NOT NULL DEFAULT 0, web_endpoint TEXT, web_key BLOB, web_secret BLOB,
  PRIMARY KEY (user, id)
) WITHOUT ROWID;
INSERT INTO devices VALUES('person1','bd186e5811ee34bc4d81d1ca7008774d',NULL,NULL,1795425980307,0,NULL,NULL,NULL);
CREATE TABLE device_positions (
  user TEXT NOT NULL,
  device TEXT NOT NULL,
  channel TEXT NOT NULL,
  delivered INTEGER NOT NULL, pushed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (user, device, channel)
) WITHOUT ROWID;
INSERT INTO device_positions VALUES('person1','bd186e5811ee34bc4d81d1ca7008774d','club1',1,0);
CREATE TABLE forms (
  company TEXT NOT NULL,
  n INTEGER NOT NULL,
  version TEXT NOT NULL,
  tag TEXT NOT NULL,
  time INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (company, n),
  UNIQUE (company, version)
);
CREATE TABLE push_services (service TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO push_services VALUES('apns');
CREATE TABLE push_walks (
  service TEXT NOT NULL,
  channel TEXT NOT NULL,
  through INTEGER NOT NULL,
  target INTEGER,
  user TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (service, channel)
) WITHOUT ROWID;
CREATE TABLE push_queue (
  id INTEGER PRIMARY KEY,
  service TEXT NOT NULL,
  due INTEGER NOT NULL,
  user TEXT NOT NULL,
  device TEXT NOT NULL,
  kind TEXT NOT NULL,
  channel TEXT NOT NULL,
  seq INTEGER NOT NULL,
  message TEXT,
  sender TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  expires INTEGER NOT NULL
);
CREATE TABLE mutes (
  user TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  until INTEGER,
  PRIMARY KEY (user, kind, name)
) WITHOUT ROWID;
CREATE TABLE quiet_hours (
  user TEXT NOT NULL,
  device TEXT NOT NULL,
  start_minute INTEGER NOT NULL,
  end_minute INTEGER NOT NULL,
  zone TEXT NOT NULL,
  PRIMARY KEY (user, device)
) WITHOUT ROWID;
CREATE TABLE its_log (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  epoch TEXT NOT NULL
);
INSERT INTO its_log VALUES(1,'06c3fb56911f4f3e0ef692f1cf07558f');
CREATE INDEX channels_with_retention ON channels (name)
WHERE kept_messages IS NOT NULL OR kept_milliseconds IS NOT NULL
OR kept_bytes IS NOT NULL;
CREATE INDEX members_by_user ON members (user, channel);
CREATE INDEX devices_by_token ON devices (push_token) WHERE push_token IS NOT NULL;
CREATE INDEX devices_by_endpoint ON devices (web_endpoint)
WHERE web_endpoint IS NOT NULL;
CREATE INDEX push_queue_by_due ON push_queue (service, due, id);
CREATE UNIQUE INDEX push_queue_one ON push_queue (user, device, channel, kind, service)
WHERE kind <> 'alert';
COMMIT;
