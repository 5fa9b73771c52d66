/// How settings lie in the journal.
enum SettingTables {
    static let first = """
        -- What a person has set: one row a target, whether the server knows it or not.
        CREATE TABLE noticesSetting (
            target TEXT PRIMARY KEY,      -- 'channel:NAME', 'user:NAME', 'quiet', 'quiet:device', 'push'
            value BLOB,                   -- NULL: it was taken back
            state INTEGER NOT NULL,       -- 0: the server knows; 1: it is yet to be told; 2: it has refused
            entry TEXT,                   -- what tells the server, or has been refused
            reason TEXT,                  -- why it has refused
            revision INTEGER NOT NULL     -- when it changed last, by noticesRevision
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE noticesRevision (last INTEGER NOT NULL) STRICT;
        INSERT INTO noticesRevision VALUES (0);
        """
}
