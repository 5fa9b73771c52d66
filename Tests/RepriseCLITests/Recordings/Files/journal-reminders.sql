PRAGMA application_id = 1380995667;
PRAGMA user_version = 5772622;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES('journal/1');
INSERT INTO grdb_migrations VALUES('journal/2');
INSERT INTO grdb_migrations VALUES('channels/1');
INSERT INTO grdb_migrations VALUES('channels/2');
INSERT INTO grdb_migrations VALUES('channels/3');
INSERT INTO grdb_migrations VALUES('forms/1');
INSERT INTO grdb_migrations VALUES('reminders/1');
INSERT INTO grdb_migrations VALUES('reminders/2');
INSERT INTO grdb_migrations VALUES('chains/1');
INSERT INTO grdb_migrations VALUES('chains/2');
INSERT INTO grdb_migrations VALUES('chains/3');
INSERT INTO grdb_migrations VALUES('notices/1');
CREATE TABLE journal (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    incarnation INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    sightedWall INTEGER,
    sightedUptime INTEGER,
    sightedBoot TEXT,
    doubted INTEGER NOT NULL
, doubtSeen INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO journal VALUES(1,1,5,0,0,1795425950811,1690586,'5cb325cb-aa78-4fd5-af8e-a6926dbd6fb2',0,0);
CREATE TABLE retired (
    outcome TEXT PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    lane TEXT,
    recordedAt INTEGER NOT NULL,
    state INTEGER NOT NULL,
    incarnation INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    interruptions INTEGER NOT NULL DEFAULT 0,
    interrupted INTEGER NOT NULL DEFAULT 0,
    released INTEGER NOT NULL DEFAULT 0,
    due INTEGER,
    bound INTEGER,
    reason TEXT,
    payload BLOB NOT NULL
) STRICT;
INSERT INTO entry VALUES(1,'tap-b1eaae94171952c9355a48360ee8f44a','reminders-route','tap',NULL,1795425951541,10,NULL,1,0,0,0,0,1796030751568,NULL,'paused',X'7b22736f75726365223a22746170222c22696e666f223a7b22617073223a7b22616c657274223a7b227469746c65223a2252656d696e646572227d7d2c2272657072697365223a7b2276223a322c22736f7274223a22676f616c222c226964223a2261222c2270617274223a227061676573227d7d2c2272616e67223a313739353432353935313339327d');
INSERT INTO entry VALUES(2,'tap-10c593f1dbf9b5ef582c89f031a022b1','reminders-route','tap',NULL,1795425952111,10,NULL,1,0,0,0,0,1796030752164,NULL,'paused',X'7b22736f75726365223a22746170222c22696e666f223a7b22617073223a7b22616c657274223a7b227469746c65223a2252656d696e646572227d7d2c2272657072697365223a7b2276223a322c22736f7274223a22676f616c222c226964223a2262222c2270617274223a227061676573227d7d2c2272616e67223a313739353432353935313836347d');
INSERT INTO entry VALUES(3,'tap-2361e27ffa225fcf0bc7bf7766783695','reminders-route','tap',NULL,1795425952719,10,NULL,1,0,0,0,0,1796030752727,NULL,'deleted',X'7b22736f75726365223a22746170222c22696e666f223a7b22617073223a7b22616c657274223a7b227469746c65223a2252656d696e646572227d7d2c2272657072697365223a7b2276223a322c22736f7274223a22676f616c222c226964223a2263222c2270617274223a227061676573227d7d2c2272616e67223a313739353432353935323333317d');
INSERT INTO entry VALUES(4,'tap-c60df6b7e47e9cc822978f4b3507730a','reminders-route','tap',NULL,1795425953533,10,NULL,1,0,0,0,0,1796030753598,NULL,'active',X'7b22736f75726365223a22746170222c22696e666f223a7b22617073223a7b22616c657274223a7b227469746c65223a2252656d696e646572227d7d2c2272657072697365223a7b2276223a322c22736f7274223a22676f616c222c226964223a2264222c2270617274223a227061676573227d7d2c2272616e67223a313739353432353935333039307d');
INSERT INTO entry VALUES(5,'tap-2f2dd0ece6cf6b107a2258c8b1638011','reminders-route','tap',NULL,1795425953935,10,NULL,1,0,0,0,0,1796030753988,NULL,'active',X'7b22736f75726365223a22746170222c22696e666f223a7b22617073223a7b22616c657274223a7b227469746c65223a2252656d696e646572227d7d2c2272657072697365223a7b2276223a322c22736f7274223a22676f616c222c226964223a2265222c2270617274223a227061676573227d7d2c2272616e67223a313739353432353935333733397d');
CREATE TABLE quarantine (
    seq INTEGER PRIMARY KEY,
    due INTEGER NOT NULL,
    why TEXT NOT NULL,
    id ANY,
    kind ANY,
    source ANY,
    payload ANY
) STRICT;
CREATE TABLE spooled (
    name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsDevice (id TEXT NOT NULL, user TEXT) STRICT;
INSERT INTO channelsDevice VALUES('eb9c2bdf194b725afceb4da594919f03',NULL);
CREATE TABLE channelsLog (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    epoch TEXT NOT NULL,
    coverage TEXT NOT NULL,
    head INTEGER NOT NULL,
    version INTEGER NOT NULL,
    accepted INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0
, retired INTEGER) STRICT;
CREATE TABLE channelsMessage (
    arrival INTEGER PRIMARY KEY,
    log INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    prev INTEGER,  -- NULL: seq - 1
    id TEXT NOT NULL,
    time INTEGER NOT NULL,
    body BLOB NOT NULL
, sender TEXT, change INTEGER, target INTEGER, deleted INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE channelsFormer (
    channel TEXT NOT NULL,
    id TEXT NOT NULL, arrival INTEGER,
    PRIMARY KEY (channel, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsReader (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    cursor INTEGER NOT NULL DEFAULT 0,
    handing INTEGER NOT NULL DEFAULT 0, ordered INTEGER NOT NULL DEFAULT 0,
    UNIQUE (channel, name)
) STRICT;
CREATE TABLE channelsException (
    reader INTEGER NOT NULL,
    arrival INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    state INTEGER NOT NULL,
    due INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (reader, arrival)
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsLost (
    id INTEGER PRIMARY KEY,
    log INTEGER NOT NULL,
    after INTEGER NOT NULL,
    through INTEGER,
    reason TEXT NOT NULL
) STRICT;
CREATE TABLE channelsAlias (
    log INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    arrival INTEGER NOT NULL,
    PRIMARY KEY (log, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsSnapshot (
    log INTEGER PRIMARY KEY,
    position INTEGER NOT NULL,
    lost TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE TABLE channelsRetired (
    log INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (log, outcome)
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsSent (
    channel TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (channel, seq, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsRefused (
    id TEXT PRIMARY KEY,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    time INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsReceipt (
    channel TEXT PRIMARY KEY,
    epoch TEXT NOT NULL,
    read INTEGER NOT NULL DEFAULT 0,
    knownRead INTEGER NOT NULL DEFAULT 0,
    floor INTEGER NOT NULL DEFAULT 0,
    unread INTEGER NOT NULL DEFAULT 0,
    head INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsPosition (
    channel TEXT NOT NULL,
    user TEXT NOT NULL,
    epoch TEXT NOT NULL,
    read INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    PRIMARY KEY (channel, user)
) STRICT, WITHOUT ROWID;
CREATE TABLE channelsFormerChange (
    log INTEGER NOT NULL,
    change INTEGER NOT NULL,
    target INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    arrival INTEGER,
    PRIMARY KEY (log, change, target, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE formsCatalogue (
    company TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    etag TEXT,
    -- Showings are kept for so many seconds: the longest time over which this catalogue counts.
    longest INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE formsShowing (
    id TEXT PRIMARY KEY,
    entry TEXT NOT NULL,
    form TEXT NOT NULL,
    granted INTEGER NOT NULL,
    appeared INTEGER,
    dismissed INTEGER,
    how TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE formsIdentity (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    user TEXT,
    company TEXT
) STRICT;
INSERT INTO formsIdentity VALUES(1,NULL,NULL);
CREATE TABLE reminderMark (
    entity TEXT NOT NULL,
    reminder TEXT NOT NULL,
    -- As in Occurrence.local; of a skip a day alone: what is left of it. Then the reminder may be empty: all of the entity.
    occurrence TEXT NOT NULL,
    -- snooze, skip, test
    what TEXT NOT NULL,
    -- When it rings; for a skip, when its day is over. It is kept for a week after that.
    until INTEGER NOT NULL,
    -- A test's reminder as JSON, which is in no store.
    reminderJSON TEXT, said INTEGER,
    PRIMARY KEY (entity, reminder, occurrence)
) STRICT, WITHOUT ROWID;
CREATE TABLE reminderPlan (
    id TEXT PRIMARY KEY,
    entity TEXT NOT NULL,
    reminder TEXT NOT NULL,
    title TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- The wall clock's time when it rings, and whose.
    local TEXT NOT NULL,
    zone TEXT NOT NULL,
    -- pending: the system has it. missing: it should have. extra: it has and should not. refused: it would not take it.
    -- beyond: one of the next, for which there is no place.
    status TEXT NOT NULL,
    reason TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO reminderPlan VALUES('reprise.reminder.0561ebd5bb5b9dacd164bd39695b472b','d','r0','Time to d',1795678200000,'2026-11-26T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.0708ccdb0e2af975ae588cbc6360e88a','b','r0','Time to b',1795764600000,'2026-11-27T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.0a64c214e25b9dac910223c11118f8ba','d','r0','Time to d',1795937400000,'2026-11-29T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.0d2c60d7392af975b22ec644619a3e25','b','r0','Time to b',1795678200000,'2026-11-26T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.0dd7e76bd9080e405c0100fa4f6b4ab5','e','r0','Time to e',1795591800000,'2026-11-25T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.109337caa77462bb251f695c9cdd5646','c','r0','Time to c',1795678200000,'2026-11-26T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.136bf187be5366dea4e6fd73527285b1','d','r0','Time to d',1796283000000,'2026-12-03T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.18ada809765b9dacc5e15d1cfa43c90e','d','r0','Time to d',1795591800000,'2026-11-25T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.19570dd5f32929ca21356948630a13f8','a','r0','Time to a',1796455800000,'2026-12-05T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.1a6f9763805b9daccef77969a379acf0','d','r0','Time to d',1795764600000,'2026-11-27T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.270b44c65820f2fe435f7c646f0fc1c8','a','r0','Time to a',1795678200000,'2026-11-26T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.30a2c00d565af21d1572d5fadb4fef8a','c','r0','Time to c',1796455800000,'2026-12-05T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.35b793f06a080e440f8c2f20a0ce0c7b','e','r0','Time to e',1796023800000,'2026-11-30T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.36c65409815af21d19490f82d9894525','c','r0','Time to c',1796369400000,'2026-12-04T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.3d0cf768527462bb27a925a6761816c1','c','r0','Time to c',1795764600000,'2026-11-27T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.3e82f8ee585366dead02255b9cb89493','d','r0','Time to d',1796110200000,'2026-12-01T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.40da874c9d7462bec3dafd60cf5bf0b9','c','r0','Time to c',1796023800000,'2026-11-30T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.4759f5f4f87462bb4163ed1067d7882f','c','r0','Time to c',1795937400000,'2026-11-29T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.4938434bce20f2fe3ab8168354aed446','a','r0','Time to a',1795505400000,'2026-11-24T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.54e6c7c5431044652807332c5e42ab5c','e','r0','Time to e',1796455800000,'2026-12-05T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.54e9f6797520f2fe4ee1724fa5da2a1d','a','r0','Time to a',1795937400000,'2026-11-29T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.5723cc26e75af21d32cd03ae675417d3','c','r0','Time to c',1796196600000,'2026-12-02T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.5f98441c151044653101e534b98610d6','e','r0','Time to e',1796283000000,'2026-12-03T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.68290235415b9dacc8d9cf897ef16169','d','r0','Time to d',1795505400000,'2026-11-24T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.6a1f8d8e42080e408a71089db84aa92e','e','r0','Time to e',1795851000000,'2026-11-28T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.714e80e0a25af21d24af9c4f36b3bf76','c','r0','Time to c',1796110200000,'2026-12-01T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.75b202e97920f2fe3d41d2cd2de994c1','a','r0','Time to a',1795591800000,'2026-11-25T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.76a0e582aa20f2fe4c58c560ef4821c2','a','r0','Time to a',1795851000000,'2026-11-28T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.7781debd0d5b9dac9772be856d31da15','d','r0','Time to d',1795851000000,'2026-11-28T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.78e8eb3f7e1044652aac59df7d5c28f7','e','r0','Time to e',1796369400000,'2026-12-04T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.824f69fc1f10446539a7e209f8dbf8d8','e','r0','Time to e',1796110200000,'2026-12-01T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.8bb51fdf6c7462bb30a26e5a03a607e3','c','r0','Time to c',1795591800000,'2026-11-25T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.9049859aac5af21d2d5597fe1ad91e78','c','r0','Time to c',1796283000000,'2026-12-03T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.97529369e72af975ec20c3d2f1caf2bb','b','r0','Time to b',1795851000000,'2026-11-28T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.975a4a8dc15366de9963f82c09c794bc','d','r0','Time to d',1796369400000,'2026-12-04T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.99461e5569412c748bfa6e375ab7aee8','b','r0','Time to b',1796196600000,'2026-12-02T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.9d00f1792e080e4055906510881c1ada','e','r0','Time to e',1795505400000,'2026-11-24T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.9f4752b34f2af9708adfc31c4375819e','b','r0','Time to b',1796023800000,'2026-11-30T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.a0ab5b862d5b9da7769f75482da8f0b0','d','r0','Time to d',1796023800000,'2026-11-30T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.a6a97387c32af975bab9b2ce0f943897','b','r0','Time to b',1795505400000,'2026-11-24T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.a7573f81e3080e40648bed84ebdbe6a7','e','r0','Time to e',1795764600000,'2026-11-27T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.aac421bf972929ca0f96249c0f74847c','a','r0','Time to a',1796110200000,'2026-12-01T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.ac62845d2c2af975e9b380041a5ffa00','b','r0','Time to b',1795937400000,'2026-11-29T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.b7a293817c5366de9c091db9bce7bc57','d','r0','Time to d',1796455800000,'2026-12-05T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.b9b048489d2929ca0952a7452380e50a','a','r0','Time to a',1796283000000,'2026-12-03T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.bfd3dc44c82929ca0d28e0cd21ba3aa5','a','r0','Time to a',1796196600000,'2026-12-02T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.c45a2b609320f2fe463b1b80bb7785e3','a','r0','Time to a',1795764600000,'2026-11-27T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.d0f6281f40104465338a3872b7b5cbd1','e','r0','Time to e',1796196600000,'2026-12-02T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.d155af0cbe412c7475538234e3977655','b','r0','Time to b',1796455800000,'2026-12-05T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.e03154622e2929ca26acd4f8af850d53','a','r0','Time to a',1796369400000,'2026-12-04T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.e31d21523d7462bb3ec030d8619aaff4','c','r0','Time to c',1795851000000,'2026-11-28T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.e6f231ea135366dea25d41297937c536','d','r0','Time to d',1796196600000,'2026-12-02T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.e7ef23188a412c7485dcc4a108c95261','b','r0','Time to b',1796110200000,'2026-12-01T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.ee663945317462bb2dc6cf3db73e43c8','c','r0','Time to c',1795505400000,'2026-11-24T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.f27d16a693412c74725b6a9d949e1dfa','b','r0','Time to b',1796369400000,'2026-12-04T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.f56abc4aa4412c748ed77784eee46003','b','r0','Time to b',1796283000000,'2026-12-03T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.f81ca652082af975b49c0a134f5487fc','b','r0','Time to b',1795591800000,'2026-11-25T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.f8ca738728080e405e6e44ca2c5e028c','e','r0','Time to e',1795678200000,'2026-11-26T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.fa27591c8220f301cfb7aa039cd1649f','a','r0','Time to a',1796023800000,'2026-11-30T07:30','GMT','pending',NULL);
INSERT INTO reminderPlan VALUES('reprise.reminder.fe8150498d080e408d6811ff4fa17389','e','r0','Time to e',1795937400000,'2026-11-29T07:30','GMT','pending',NULL);
CREATE TABLE reminderSurvey (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at INTEGER NOT NULL,
    cause TEXT NOT NULL,
    permission TEXT NOT NULL,
    zone TEXT NOT NULL,
    entities INTEGER NOT NULL,
    reminders INTEGER NOT NULL,
    -- Until then everything rings that should, without the app being opened; NULL: for ever.
    guaranteedUntil INTEGER,
    fault TEXT
) STRICT;
INSERT INTO reminderSurvey VALUES(1,1795425953447,'change','authorized','GMT',5,5,1796542200000,NULL);
CREATE TABLE reminderDecision (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    -- add, replace, remove, removeDelivered, refused, skipped, invalid
    what TEXT NOT NULL,
    request TEXT NOT NULL,
    entity TEXT,
    reason TEXT NOT NULL
) STRICT;
INSERT INTO reminderDecision VALUES(1,1795425951013,'add','reprise.reminder.4938434bce20f2fe3ab8168354aed446','a','It should ring at 2026-11-24T07:30.');
INSERT INTO reminderDecision VALUES(2,1795425951026,'add','reprise.reminder.a6a97387c32af975bab9b2ce0f943897','b','It should ring at 2026-11-24T07:30.');
INSERT INTO reminderDecision VALUES(3,1795425951087,'add','reprise.reminder.ee663945317462bb2dc6cf3db73e43c8','c','It should ring at 2026-11-24T07:30.');
INSERT INTO reminderDecision VALUES(4,1795425951151,'add','reprise.reminder.68290235415b9dacc8d9cf897ef16169','d','It should ring at 2026-11-24T07:30.');
INSERT INTO reminderDecision VALUES(5,1795425951174,'add','reprise.reminder.9d00f1792e080e4055906510881c1ada','e','It should ring at 2026-11-24T07:30.');
INSERT INTO reminderDecision VALUES(6,1795425951197,'add','reprise.reminder.75b202e97920f2fe3d41d2cd2de994c1','a','It should ring at 2026-11-25T07:30.');
INSERT INTO reminderDecision VALUES(7,1795425951210,'add','reprise.reminder.f81ca652082af975b49c0a134f5487fc','b','It should ring at 2026-11-25T07:30.');
INSERT INTO reminderDecision VALUES(8,1795425951219,'add','reprise.reminder.8bb51fdf6c7462bb30a26e5a03a607e3','c','It should ring at 2026-11-25T07:30.');
INSERT INTO reminderDecision VALUES(9,1795425951233,'add','reprise.reminder.18ada809765b9dacc5e15d1cfa43c90e','d','It should ring at 2026-11-25T07:30.');
INSERT INTO reminderDecision VALUES(10,1795425951252,'add','reprise.reminder.0dd7e76bd9080e405c0100fa4f6b4ab5','e','It should ring at 2026-11-25T07:30.');
INSERT INTO reminderDecision VALUES(11,1795425951276,'add','reprise.reminder.270b44c65820f2fe435f7c646f0fc1c8','a','It should ring at 2026-11-26T07:30.');
INSERT INTO reminderDecision VALUES(12,1795425951296,'add','reprise.reminder.0d2c60d7392af975b22ec644619a3e25','b','It should ring at 2026-11-26T07:30.');
INSERT INTO reminderDecision VALUES(13,1795425951312,'add','reprise.reminder.109337caa77462bb251f695c9cdd5646','c','It should ring at 2026-11-26T07:30.');
INSERT INTO reminderDecision VALUES(14,1795425951360,'add','reprise.reminder.0561ebd5bb5b9dacd164bd39695b472b','d','It should ring at 2026-11-26T07:30.');
INSERT INTO reminderDecision VALUES(15,1795425951380,'add','reprise.reminder.f8ca738728080e405e6e44ca2c5e028c','e','It should ring at 2026-11-26T07:30.');
INSERT INTO reminderDecision VALUES(16,1795425951394,'add','reprise.reminder.c45a2b609320f2fe463b1b80bb7785e3','a','It should ring at 2026-11-27T07:30.');
INSERT INTO reminderDecision VALUES(17,1795425951418,'add','reprise.reminder.0708ccdb0e2af975ae588cbc6360e88a','b','It should ring at 2026-11-27T07:30.');
INSERT INTO reminderDecision VALUES(18,1795425951451,'add','reprise.reminder.3d0cf768527462bb27a925a6761816c1','c','It should ring at 2026-11-27T07:30.');
INSERT INTO reminderDecision VALUES(19,1795425951464,'add','reprise.reminder.1a6f9763805b9daccef77969a379acf0','d','It should ring at 2026-11-27T07:30.');
INSERT INTO reminderDecision VALUES(20,1795425951476,'add','reprise.reminder.a7573f81e3080e40648bed84ebdbe6a7','e','It should ring at 2026-11-27T07:30.');
INSERT INTO reminderDecision VALUES(21,1795425951548,'add','reprise.reminder.76a0e582aa20f2fe4c58c560ef4821c2','a','It should ring at 2026-11-28T07:30.');
INSERT INTO reminderDecision VALUES(22,1795425951582,'add','reprise.reminder.97529369e72af975ec20c3d2f1caf2bb','b','It should ring at 2026-11-28T07:30.');
INSERT INTO reminderDecision VALUES(23,1795425951590,'add','reprise.reminder.e31d21523d7462bb3ec030d8619aaff4','c','It should ring at 2026-11-28T07:30.');
INSERT INTO reminderDecision VALUES(24,1795425951602,'add','reprise.reminder.7781debd0d5b9dac9772be856d31da15','d','It should ring at 2026-11-28T07:30.');
INSERT INTO reminderDecision VALUES(25,1795425951637,'add','reprise.reminder.6a1f8d8e42080e408a71089db84aa92e','e','It should ring at 2026-11-28T07:30.');
INSERT INTO reminderDecision VALUES(26,1795425951649,'add','reprise.reminder.54e9f6797520f2fe4ee1724fa5da2a1d','a','It should ring at 2026-11-29T07:30.');
INSERT INTO reminderDecision VALUES(27,1795425951659,'add','reprise.reminder.ac62845d2c2af975e9b380041a5ffa00','b','It should ring at 2026-11-29T07:30.');
INSERT INTO reminderDecision VALUES(28,1795425951683,'add','reprise.reminder.4759f5f4f87462bb4163ed1067d7882f','c','It should ring at 2026-11-29T07:30.');
INSERT INTO reminderDecision VALUES(29,1795425951718,'add','reprise.reminder.0a64c214e25b9dac910223c11118f8ba','d','It should ring at 2026-11-29T07:30.');
INSERT INTO reminderDecision VALUES(30,1795425951766,'add','reprise.reminder.fe8150498d080e408d6811ff4fa17389','e','It should ring at 2026-11-29T07:30.');
INSERT INTO reminderDecision VALUES(31,1795425951780,'add','reprise.reminder.fa27591c8220f301cfb7aa039cd1649f','a','It should ring at 2026-11-30T07:30.');
INSERT INTO reminderDecision VALUES(32,1795425951812,'add','reprise.reminder.9f4752b34f2af9708adfc31c4375819e','b','It should ring at 2026-11-30T07:30.');
INSERT INTO reminderDecision VALUES(33,1795425951864,'add','reprise.reminder.40da874c9d7462bec3dafd60cf5bf0b9','c','It should ring at 2026-11-30T07:30.');
INSERT INTO reminderDecision VALUES(34,1795425951896,'add','reprise.reminder.a0ab5b862d5b9da7769f75482da8f0b0','d','It should ring at 2026-11-30T07:30.');
INSERT INTO reminderDecision VALUES(35,1795425951921,'add','reprise.reminder.35b793f06a080e440f8c2f20a0ce0c7b','e','It should ring at 2026-11-30T07:30.');
INSERT INTO reminderDecision VALUES(36,1795425951962,'add','reprise.reminder.aac421bf972929ca0f96249c0f74847c','a','It should ring at 2026-12-01T07:30.');
INSERT INTO reminderDecision VALUES(37,1795425951997,'add','reprise.reminder.e7ef23188a412c7485dcc4a108c95261','b','It should ring at 2026-12-01T07:30.');
INSERT INTO reminderDecision VALUES(38,1795425952017,'add','reprise.reminder.714e80e0a25af21d24af9c4f36b3bf76','c','It should ring at 2026-12-01T07:30.');
INSERT INTO reminderDecision VALUES(39,1795425952041,'add','reprise.reminder.3e82f8ee585366dead02255b9cb89493','d','It should ring at 2026-12-01T07:30.');
INSERT INTO reminderDecision VALUES(40,1795425952069,'add','reprise.reminder.824f69fc1f10446539a7e209f8dbf8d8','e','It should ring at 2026-12-01T07:30.');
INSERT INTO reminderDecision VALUES(41,1795425952147,'add','reprise.reminder.bfd3dc44c82929ca0d28e0cd21ba3aa5','a','It should ring at 2026-12-02T07:30.');
INSERT INTO reminderDecision VALUES(42,1795425952266,'add','reprise.reminder.99461e5569412c748bfa6e375ab7aee8','b','It should ring at 2026-12-02T07:30.');
INSERT INTO reminderDecision VALUES(43,1795425952285,'add','reprise.reminder.5723cc26e75af21d32cd03ae675417d3','c','It should ring at 2026-12-02T07:30.');
INSERT INTO reminderDecision VALUES(44,1795425952306,'add','reprise.reminder.e6f231ea135366dea25d41297937c536','d','It should ring at 2026-12-02T07:30.');
INSERT INTO reminderDecision VALUES(45,1795425952367,'add','reprise.reminder.d0f6281f40104465338a3872b7b5cbd1','e','It should ring at 2026-12-02T07:30.');
INSERT INTO reminderDecision VALUES(46,1795425952460,'add','reprise.reminder.b9b048489d2929ca0952a7452380e50a','a','It should ring at 2026-12-03T07:30.');
INSERT INTO reminderDecision VALUES(47,1795425952501,'add','reprise.reminder.f56abc4aa4412c748ed77784eee46003','b','It should ring at 2026-12-03T07:30.');
INSERT INTO reminderDecision VALUES(48,1795425952518,'add','reprise.reminder.9049859aac5af21d2d5597fe1ad91e78','c','It should ring at 2026-12-03T07:30.');
INSERT INTO reminderDecision VALUES(49,1795425952538,'add','reprise.reminder.136bf187be5366dea4e6fd73527285b1','d','It should ring at 2026-12-03T07:30.');
INSERT INTO reminderDecision VALUES(50,1795425952782,'add','reprise.reminder.5f98441c151044653101e534b98610d6','e','It should ring at 2026-12-03T07:30.');
INSERT INTO reminderDecision VALUES(51,1795425952854,'add','reprise.reminder.e03154622e2929ca26acd4f8af850d53','a','It should ring at 2026-12-04T07:30.');
INSERT INTO reminderDecision VALUES(52,1795425952981,'add','reprise.reminder.f27d16a693412c74725b6a9d949e1dfa','b','It should ring at 2026-12-04T07:30.');
INSERT INTO reminderDecision VALUES(53,1795425953049,'add','reprise.reminder.36c65409815af21d19490f82d9894525','c','It should ring at 2026-12-04T07:30.');
INSERT INTO reminderDecision VALUES(54,1795425953094,'add','reprise.reminder.975a4a8dc15366de9963f82c09c794bc','d','It should ring at 2026-12-04T07:30.');
INSERT INTO reminderDecision VALUES(55,1795425953190,'add','reprise.reminder.78e8eb3f7e1044652aac59df7d5c28f7','e','It should ring at 2026-12-04T07:30.');
INSERT INTO reminderDecision VALUES(56,1795425953299,'add','reprise.reminder.19570dd5f32929ca21356948630a13f8','a','It should ring at 2026-12-05T07:30.');
INSERT INTO reminderDecision VALUES(57,1795425953332,'add','reprise.reminder.d155af0cbe412c7475538234e3977655','b','It should ring at 2026-12-05T07:30.');
INSERT INTO reminderDecision VALUES(58,1795425953347,'add','reprise.reminder.30a2c00d565af21d1572d5fadb4fef8a','c','It should ring at 2026-12-05T07:30.');
INSERT INTO reminderDecision VALUES(59,1795425953378,'add','reprise.reminder.b7a293817c5366de9c091db9bce7bc57','d','It should ring at 2026-12-05T07:30.');
INSERT INTO reminderDecision VALUES(60,1795425953447,'add','reprise.reminder.54e6c7c5431044652807332c5e42ab5c','e','It should ring at 2026-12-05T07:30.');
CREATE TABLE reminderRoute (
    entry TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    -- tap, action, link, app
    source TEXT NOT NULL,
    -- The route as JSON; NULL: there was none.
    route TEXT,
    action TEXT,
    -- active, paused, deleted, missing, superseded, malformed; NULL: not resolved yet
    resolution TEXT,
    reason TEXT,
    resolved INTEGER,
    handed INTEGER NOT NULL DEFAULT 0,
    presented INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO reminderRoute VALUES('tap-10c593f1dbf9b5ef582c89f031a022b1',1795425952111,'tap','{"isTest":false,"sort":"goal","part":"pages","id":"b"}',NULL,'paused','“Title of b” is paused.',1795425952142,1,1795425952147);
INSERT INTO reminderRoute VALUES('tap-2361e27ffa225fcf0bc7bf7766783695',1795425952718,'tap','{"isTest":false,"part":"pages","sort":"goal","id":"c"}',NULL,'deleted','The store has a tombstone of it.',1795425952725,1,1795425952726);
INSERT INTO reminderRoute VALUES('tap-2f2dd0ece6cf6b107a2258c8b1638011',1795425953935,'tap','{"sort":"goal","id":"e","part":"pages","isTest":false}',NULL,'active','“Title of e” is in use, and so is “Pages?”.',1795425953975,1,1795425953976);
INSERT INTO reminderRoute VALUES('tap-b1eaae94171952c9355a48360ee8f44a',1795425951539,'tap','{"isTest":false,"part":"pages","sort":"goal","id":"a"}',NULL,'paused','“Title of a” is paused.',1795425951548,1,1795425951550);
INSERT INTO reminderRoute VALUES('tap-c60df6b7e47e9cc822978f4b3507730a',1795425953533,'tap','{"id":"d","part":"pages","isTest":false,"sort":"goal"}',NULL,'active','“Title of d” is in use, and so is “Pages?”.',1795425953590,1,1795425953592);
CREATE TABLE chain (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    -- The definition's name, version and the SHA-256 of its shape for this input.
    definition TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash TEXT NOT NULL,
    -- The unique name that it was started under.
    name TEXT,
    -- ChainState: 0 queued, 1 running, 2 paused, 3 parked, 4 failing, 5 cancelling, 10 succeeded, 11 failed,
    -- 12 cancelled, 13 quarantined.
    state INTEGER NOT NULL,
    -- Why it is parked, failed, cancelled or quarantined.
    reason TEXT,
    input BLOB NOT NULL,
    tasks INTEGER NOT NULL,
    -- ChainConstraints: 1 network, 2 unmetered, 4 charging; and the bytes that must be free.
    needs INTEGER NOT NULL,
    needsBytes INTEGER NOT NULL,
    startedAt INTEGER NOT NULL,
    -- Not before; a delayed start.
    due INTEGER,
    deadline INTEGER,
    endedAt INTEGER,
    -- When it leaves the journal.
    leaves INTEGER
) STRICT;
CREATE TABLE chainTask (
    chain INTEGER NOT NULL,
    place INTEGER NOT NULL,
    step INTEGER NOT NULL,
    name TEXT NOT NULL,
    -- The worker's identifier; nil: it waits for what `hold` says.
    worker TEXT,
    -- TaskState: 0 blocked, 1 intended, 2 held, 10 succeeded, 11 failed, 12 cancelled.
    state INTEGER NOT NULL,
    -- Of taking its effect back: 0 none, 1 intended, 2 held, 10 undone, 11 failed.
    undo INTEGER NOT NULL DEFAULT 0,
    -- What it is held for: paused, parked, conditions, readiness:NAME, entry:KIND.
    hold TEXT,
    -- The newest entry of the journal when it began to wait for one.
    after INTEGER,
    -- The intent, and how many there were before it.
    entry TEXT,
    round INTEGER NOT NULL DEFAULT 0,
    -- Attempts of the intents before this one, and failures of all.
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    intendedAt INTEGER,
    startedAt INTEGER,
    endedAt INTEGER,
    deadline INTEGER,
    input BLOB,
    -- At most 8 KiB here; what is longer lies in outputs/NAME, with its SHA-256.
    output BLOB,
    outputFile TEXT,
    outputBytes INTEGER,
    outputHash BLOB,
    checkpoint BLOB,
    progress REAL,
    note TEXT,
    error TEXT, undoAttempts INTEGER NOT NULL DEFAULT 0, takenBack INTEGER NOT NULL DEFAULT 0, undoInput BLOB,
    PRIMARY KEY (chain, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE chainLog (
    seq INTEGER PRIMARY KEY,
    chain INTEGER NOT NULL,
    place INTEGER,
    at INTEGER NOT NULL,
    line TEXT NOT NULL
) STRICT;
CREATE TABLE chainRetired (
    state INTEGER PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT;
CREATE TABLE noticesMessage (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    seq INTEGER NOT NULL,
    time INTEGER NOT NULL,
    standing INTEGER NOT NULL,
    way TEXT NOT NULL,
    reason TEXT NOT NULL,
    presentation INTEGER NOT NULL,
    decided INTEGER NOT NULL,
    ended TEXT,
    isRemote INTEGER NOT NULL DEFAULT 0,
    alerts INTEGER NOT NULL DEFAULT 0,
    unconfirmed INTEGER NOT NULL DEFAULT 0,
    content BLOB
) STRICT, WITHOUT ROWID;
CREATE TABLE noticesChannel (
    channel TEXT PRIMARY KEY,
    log INTEGER NOT NULL,
    mark TEXT NOT NULL,
    cursor INTEGER NOT NULL,
    before INTEGER NOT NULL,
    read INTEGER NOT NULL,
    start INTEGER NOT NULL,
    dismissed INTEGER NOT NULL DEFAULT 0,
    head INTEGER NOT NULL,
    unread INTEGER NOT NULL,
    exact INTEGER NOT NULL,
    wanted INTEGER NOT NULL DEFAULT 0,
    changed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE noticesBadge (
    total INTEGER NOT NULL,
    counted INTEGER,
    asOf INTEGER NOT NULL,
    shown INTEGER
) STRICT;
INSERT INTO noticesBadge VALUES(0,NULL,0,NULL);
CREATE TABLE noticesCount (
    what TEXT PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE noticesTap (
    entry TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    channel TEXT,
    message TEXT,
    resolution TEXT,
    reason TEXT,
    handed INTEGER NOT NULL DEFAULT 0,
    presented INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE noticesSetting (
    target TEXT PRIMARY KEY,      -- 'channel:NAME', 'user:NAME', 'quiet', 'quiet:device', 'push'
    value BLOB,                   -- NULL: it was taken back
    state INTEGER NOT NULL,       -- 0: the server knows; 1: it is yet to be told; 2: it has refused
    entry TEXT,                   -- what tells the server, or has been refused
    reason TEXT,                  -- why it has refused
    revision INTEGER NOT NULL     -- when it changed last, by noticesRevision
) STRICT, WITHOUT ROWID;
CREATE TABLE noticesRevision (last INTEGER NOT NULL) STRICT;
INSERT INTO noticesRevision VALUES(0);
CREATE INDEX entryReady ON entry(kind, seq) WHERE state = 0;
CREATE INDEX entryReleased ON entry(kind, seq) WHERE state = 0 AND released = 1;
CREATE INDEX entryQueued ON entry(seq) WHERE state = 1;
CREATE INDEX entryDelayed ON entry(due) WHERE state = 2;
CREATE INDEX entryInHand ON entry(seq) WHERE state = 3;
CREATE INDEX entryFinished ON entry(due) WHERE state >= 10;
CREATE INDEX entryDead ON entry(seq) WHERE state = 13;
CREATE INDEX entryBound ON entry(kind, bound) WHERE bound IS NOT NULL AND state < 3;
CREATE INDEX entryLane ON entry(lane, seq) WHERE lane IS NOT NULL AND state < 10;
CREATE INDEX entryInterrupted ON entry(kind, seq)
    WHERE interrupted = 1 AND state < 3;
CREATE INDEX entryBroken ON entry(seq) WHERE state NOT IN (0,1,2,3,10,11,12,13,14,15);
CREATE INDEX quarantineDue ON quarantine(due);
CREATE INDEX channelsLogByChannel ON channelsLog (channel, id);
CREATE UNIQUE INDEX channelsMessageBySeq ON channelsMessage (log, seq);
CREATE INDEX channelsExceptionByDue ON channelsException (reader, due) WHERE state = 0;
CREATE INDEX channelsMessageByEdit ON channelsMessage (log, target, seq) WHERE change = 1;
CREATE INDEX channelsMessageByDeletion ON channelsMessage (log, target) WHERE change = 2;
CREATE INDEX channelsAliasByArrival ON channelsAlias (arrival);
CREATE INDEX channelsFormerChangeByArrival ON channelsFormerChange (arrival)
    WHERE arrival IS NOT NULL;
CREATE INDEX formsShowingGranted ON formsShowing(granted);
CREATE INDEX formsShowingForm ON formsShowing(form, granted);
CREATE INDEX formsShowingEntry ON formsShowing(entry) WHERE appeared IS NULL;
CREATE INDEX chainOpen ON chain(state, seq) WHERE state < 10;
CREATE INDEX chainName ON chain(name, seq) WHERE name IS NOT NULL AND state < 10;
CREATE INDEX chainLeaves ON chain(leaves) WHERE state >= 10;
CREATE INDEX chainTaskHeld ON chainTask(hold, chain) WHERE hold IS NOT NULL;
CREATE INDEX chainTaskFile ON chainTask(outputFile) WHERE outputFile IS NOT NULL;
CREATE INDEX chainLogChain ON chainLog(chain, seq);
CREATE INDEX noticesMessageStanding ON noticesMessage (channel, seq) WHERE standing < 2;
CREATE INDEX noticesMessageByTime ON noticesMessage (decided);
CREATE INDEX noticesChannelChanged ON noticesChannel (changed);
CREATE INDEX noticesChannelWanted ON noticesChannel (wanted) WHERE wanted > head;
CREATE INDEX noticesTapByTime ON noticesTap (at);
COMMIT;
