import GRDB

/// The tables of the accounts.
///
/// - `channels`: the records. `members` counts the rows in `members`, to save a count per receipt.
/// - `members`, `positions`: clustered by channel and user. `device_positions`: by user and device,
///   because they are removed with a device.
/// - `forms`: catalogues; the greatest `n` of a company is the current one.
/// - `push_services`: the started ones; `push_walks`: the progress of each through a channel's
///   messages, and, while `target` is set, the last member scanned on the way there. `push_early`:
///   up to which message a device was scanned before that, because it was not connected.
///   `push_queue`: the waiting pushes; at most one of a kind but `alert` for a device and channel.
///   `failing`: whether an alert is, or was, delayed: see ``PushLimits/delayedAlerts``.
/// - `directory_changes`: who is to be told of which channel, or with '' of all; for the user ''
///   all members of a channel, or of `@user` those who share one with him.
///   `directories`: the users who were told of all. `directory_key` makes ids that nobody guesses.
/// - `its_log`: the epoch of the log that the positions belong to; no row before the first start
///   beside one.
/// - `archived`: when a user has archived a channel.
/// - `presence`: who hides his presence, and when others were seen last.
/// - `mutes`, `quiet_hours`: the users' mutes and quiet hours; a device's own quiet hours precede
///   those without a device. `mute_mentions`: whether mentions come through a mute, where that is
///   not as ``Mute/Subject/exceptsMentions``. `push_queue` says of a message whether it mentions
///   the user.
/// - `silent_users`: who wants no sound while active on another device; `active_devices`: where
///   they have read last, and when.
enum AccountsSchema {
    static func migrator() -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        register(in: &migrator)
        return migrator
    }

    static func register(in migrator: inout DatabaseMigrator) {
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
        migrator.registerMigration("3 push", migrate: addPush)
        migrator.registerMigration("4 its log") { db in
            try db.execute(
                sql: """
                    CREATE TABLE its_log (
                      one INTEGER PRIMARY KEY CHECK (one = 1),
                      epoch TEXT NOT NULL
                    );
                    """)
        }
        migrator.registerMigration("5 what one user makes") { db in
            // A covering index: summing the counts reads nothing else.
            try db.execute(
                sql: """
                    CREATE INDEX channels_by_maker ON channels (maker, members)
                    WHERE maker IS NOT NULL;
                    """)
        }
        migrator.registerMigration("6 early pushes") { db in
            try db.execute(
                sql: """
                    CREATE TABLE push_early (
                      service TEXT NOT NULL,
                      channel TEXT NOT NULL,
                      user TEXT NOT NULL,
                      device TEXT NOT NULL,
                      through INTEGER NOT NULL,
                      PRIMARY KEY (service, channel, user, device)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("7 directories", migrate: addDirectories)
        migrator.registerMigration("8 profiles") { db in
            try db.execute(
                sql: """
                    CREATE TABLE profiles (user TEXT PRIMARY KEY, name TEXT, picture TEXT)
                    WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("9 archived") { db in
            try db.execute(
                sql: """
                    CREATE TABLE archived (
                      user TEXT NOT NULL,
                      channel TEXT NOT NULL,
                      time INTEGER NOT NULL,
                      PRIMARY KEY (user, channel)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("10 mentions", migrate: addMentions)
        migrator.registerMigration("11 presence") { db in
            try db.execute(
                sql: """
                    CREATE TABLE presence (user TEXT PRIMARY KEY, hidden INTEGER NOT NULL, seen INTEGER)
                    WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("12 failing pushes") { db in
            // Alerts of services that answer cost nothing in it.
            try db.execute(
                sql: """
                    ALTER TABLE push_queue ADD COLUMN failing INTEGER NOT NULL DEFAULT 0;
                    CREATE INDEX push_queue_failing ON push_queue (service, user, id)
                    WHERE failing = 1;
                    """)
        }
        migrator.registerMigration("13 pushes of a message") { db in
            // In the order in which a scan queues them: it changes few pages.
            try db.execute(
                sql: """
                    CREATE INDEX push_queue_by_message ON push_queue (channel, seq, user)
                    WHERE kind = 'alert';
                    """)
        }
    }

    @Sendable
    private static func addMentions(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE mute_mentions (
                  user TEXT NOT NULL,
                  kind TEXT NOT NULL,
                  name TEXT NOT NULL,
                  excepted INTEGER NOT NULL,
                  PRIMARY KEY (user, kind, name)
                ) WITHOUT ROWID;
                CREATE TABLE silent_users (user TEXT PRIMARY KEY) WITHOUT ROWID;
                CREATE TABLE active_devices (
                  user TEXT NOT NULL,
                  device TEXT NOT NULL,
                  time INTEGER NOT NULL,
                  PRIMARY KEY (user, device)
                ) WITHOUT ROWID;
                ALTER TABLE push_queue ADD COLUMN mention INTEGER NOT NULL DEFAULT 0;
                """)
    }

    @Sendable
    private static func addDirectories(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE directory_changes (
                  n INTEGER PRIMARY KEY AUTOINCREMENT,
                  user TEXT NOT NULL,
                  channel TEXT NOT NULL,
                  UNIQUE (user, channel)
                );
                CREATE TABLE directories (user TEXT PRIMARY KEY) WITHOUT ROWID;
                CREATE TABLE directory_key (
                  one INTEGER PRIMARY KEY CHECK (one = 1),
                  key BLOB NOT NULL
                );
                INSERT INTO directory_key VALUES (1, randomblob(32));
                """)
    }

    @Sendable
    private static func addPush(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE devices ADD COLUMN push_since INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE devices ADD COLUMN web_endpoint TEXT;
                ALTER TABLE devices ADD COLUMN web_key BLOB;
                ALTER TABLE devices ADD COLUMN web_secret BLOB;
                CREATE INDEX devices_by_endpoint ON devices (web_endpoint)
                WHERE web_endpoint IS NOT NULL;
                ALTER TABLE device_positions ADD COLUMN pushed INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE push_services (service TEXT PRIMARY KEY) WITHOUT ROWID;
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
                CREATE INDEX push_queue_by_due ON push_queue (service, due, id);
                CREATE UNIQUE INDEX push_queue_one ON push_queue (user, device, channel, kind, service)
                WHERE kind <> 'alert';
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
                """)
    }

    @Sendable
    private static func createFirst(_ db: Database) throws {
        try ServerDatabase.accounts.identify(db)
        try db.execute(
            sql: """
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
