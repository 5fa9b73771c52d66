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
INSERT INTO journal VALUES(1,1,0,0,0,1795425980311,1720085,'5cb325cb-aa78-4fd5-af8e-a6926dbd6fb2',0,0);
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
INSERT INTO channelsDevice VALUES('bd186e5811ee34bc4d81d1ca7008774d','person1');
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
INSERT INTO channelsLog VALUES(1,'team1','06c3fb56911f4f3e0ef692f1cf07558f','[]',0,1,0,0,NULL);
INSERT INTO channelsLog VALUES(2,'club1','06c3fb56911f4f3e0ef692f1cf07558f','[[0,1]]',1,2,1,0,NULL);
CREATE TABLE channelsMessage (
    arrival INTEGER PRIMARY KEY,
    log INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    prev INTEGER,  -- NULL: seq - 1
    id TEXT NOT NULL,
    time INTEGER NOT NULL,
    body BLOB NOT NULL
, sender TEXT, change INTEGER, target INTEGER, deleted INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO channelsMessage VALUES(2199023255553,2,1,NULL,'person1-m1',1795425980438,X'7b2274657874223a224d657373616765206d31227d','ada',NULL,NULL,0);
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
INSERT INTO channelsReader VALUES(1,'team1','seed',0,0,0);
INSERT INTO channelsReader VALUES(2,'club1','seed',2199023255553,2199023255553,0);
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
INSERT INTO channelsReceipt VALUES('club1','06c3fb56911f4f3e0ef692f1cf07558f',0,0,0,0,0);
INSERT INTO channelsReceipt VALUES('team1','06c3fb56911f4f3e0ef692f1cf07558f',0,0,0,0,0);
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
CREATE TABLE reminderDecision (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    -- add, replace, remove, removeDelivered, refused, skipped, invalid
    what TEXT NOT NULL,
    request TEXT NOT NULL,
    entity TEXT,
    reason TEXT NOT NULL
) STRICT;
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
