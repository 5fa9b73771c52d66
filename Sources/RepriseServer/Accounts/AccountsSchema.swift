import GRDB

/// The tables of the accounts.
///
/// - `channels`: the records. `members` counts the rows in `members`, so that nobody counts them again for each receipt.
/// - `members`, `positions`: clustered by channel and user. `device_positions`: by user and device, because they leave with a device.
/// - `forms`: catalogues; the greatest `n` of a company is the current one.
enum AccountsSchema {
    static func migrator() -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 accounts", migrate: createFirst)
        migrator.registerMigration("2 forms") { db in
            try db.execute(
                sql: """
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
                    """)
        }
        return migrator
    }

    @Sendable
    private static func createFirst(_ db: Database) throws {
        try db.execute(
            sql: """
                PRAGMA application_id = \(ServerDatabase.accounts.applicationID);
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
                CREATE INDEX channels_with_retention ON channels (name)
                WHERE kept_messages IS NOT NULL OR kept_milliseconds IS NOT NULL
                OR kept_bytes IS NOT NULL;
                CREATE TABLE members (
                  channel TEXT NOT NULL,
                  user TEXT NOT NULL,
                  role TEXT NOT NULL,
                  joined INTEGER NOT NULL,
                  since INTEGER NOT NULL,
                  PRIMARY KEY (channel, user)
                ) WITHOUT ROWID;
                CREATE INDEX members_by_user ON members (user, channel);
                CREATE TABLE positions (
                  channel TEXT NOT NULL,
                  user TEXT NOT NULL,
                  read INTEGER NOT NULL,
                  delivered INTEGER NOT NULL,
                  PRIMARY KEY (channel, user)
                ) WITHOUT ROWID;
                CREATE TABLE devices (
                  user TEXT NOT NULL,
                  id TEXT NOT NULL,
                  platform TEXT,
                  push_token TEXT,
                  seen INTEGER NOT NULL,
                  PRIMARY KEY (user, id)
                ) WITHOUT ROWID;
                CREATE INDEX devices_by_token ON devices (push_token) WHERE push_token IS NOT NULL;
                CREATE TABLE device_positions (
                  user TEXT NOT NULL,
                  device TEXT NOT NULL,
                  channel TEXT NOT NULL,
                  delivered INTEGER NOT NULL,
                  PRIMARY KEY (user, device, channel)
                ) WITHOUT ROWID;
                """)
    }
}
