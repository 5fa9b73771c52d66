import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// The journal's rows of the user's conversations, as the directory told them.
enum ConversationRows {
    static let schema = """
        CREATE TABLE channelsConversation (
            channel TEXT PRIMARY KEY,
            title TEXT,
            role TEXT NOT NULL,
            since INTEGER NOT NULL,
            members INTEGER NOT NULL,
            others TEXT,  -- names, separated by spaces, which no name has; NULL: too many
            profiles TEXT,  -- JSON: of the others who have one, by name
            muted INTEGER NOT NULL,
            mutedUntil INTEGER,
            -- It was told before the list that is being told now.
            old INTEGER NOT NULL DEFAULT 0,
            -- This device has begun it, and the server has not told it yet.
            pending INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;

        -- The channel that tells the conversations.
        CREATE TABLE channelsDirectory (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            channel TEXT NOT NULL
        ) STRICT;
        """

    static let second = """
        -- When the user has archived it; NULL: not.
        ALTER TABLE channelsConversation ADD COLUMN archived INTEGER;

        -- What the user has begun to write.
        CREATE TABLE channelsDraft (
            channel TEXT PRIMARY KEY,
            text TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// What waits for the server, as the column `pending` has it; 0: nothing.
    enum Pending: Int {
        /// It was begun here.
        case begun = 1
        /// It was left here. Not listed, but kept as the server tells it, which may refuse that.
        case left = 2
        /// It was left here and begun again, and the server has answered neither.
        case begunAgain = 3
    }

    static func directory(_ db: Database) throws -> ChannelName? {
        try String.fetchOne(db, sql: "SELECT channel FROM channelsDirectory")
            .flatMap { try? ChannelName($0) }
    }

    static func set(directory: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO channelsDirectory (one, channel) VALUES (1, ?)",
            arguments: [directory.text])
    }

    /// Takes entries in order; one that it cannot read is of a later server, and changes nothing.
    ///
    /// - Returns: the conversations that they tell.
    static func apply(_ messages: [Message], _ db: Database) throws -> Set<ChannelName> {
        var space = try space(db)
        var told: Set<ChannelName> = []
        for message in messages where message.change == nil && !message.isDeleted {
            guard
                let entry = try? ForeignJSON.decode(DirectoryEntry.self, from: message.body)
            else { continue }
            if entry.list == .end { space = nil }
            try apply(entry, space: &space, db)
            if let channel = entry.conversation.flatMap({ try? ChannelName($0) }) {
                told.insert(channel)
            }
        }
        return told
    }

    static func isKnown(_ channel: ChannelName, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM channelsConversation
                    WHERE channel = ? AND pending <> \(Pending.left.rawValue))
                    """),
            arguments: [channel.text]) ?? false
    }

    /// How many more are kept: a dishonest server cannot fill the disk.
    private static func space(_ db: Database) throws -> Int? {
        let count = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM channelsConversation")
        return ConversationLimits.kept - (count ?? 0)
    }

    /// `space` is nil if it has to be counted.
    private static func apply(
        _ entry: DirectoryEntry, space: inout Int?, _ db: Database
    ) throws {
        switch entry.list {
        case .begin: return try beginList(db)
        case .end: return try endList(db)
        case nil: break
        }
        guard let channel = entry.conversation.flatMap({ try? ChannelName($0) }) else { return }
        if entry.left == true {
            if try remove(channel, db) { space = space.map { $0 + 1 } }
            return
        }
        guard let role = entry.role.flatMap(Conversation.Role.init) else { return }
        let columns = try columns(of: entry, channel, role)
        guard try !update(columns, db) else { return }
        let left = try space ?? Self.space(db) ?? 0
        space = left - 1
        if left > 0 { try insert(columns, db) }
    }

    private static func beginList(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE channelsConversation SET old = 1
                WHERE pending <> \(Pending.begun.rawValue)
                """)
    }

    private static func endList(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE channelsConversation SET pending = \(Pending.begun.rawValue), old = 0
                WHERE old = 1 AND pending = \(Pending.begunAgain.rawValue)
                """)
        try db.execute(sql: "DELETE FROM channelsConversation WHERE old = 1")
    }

    /// - Returns: false if it was not there, or was begun again and waits for the server.
    private static func remove(_ channel: ChannelName, _ db: Database) throws -> Bool {
        try ended(channel, db)
        try db.execute(
            sql: """
                DELETE FROM channelsConversation
                WHERE channel = ? AND pending <> \(Pending.begun.rawValue)
                """,
            arguments: [channel.text])
        return db.changesCount > 0
    }

    /// In the order of ``insert(_:_:)``.
    private static func columns(
        of entry: DirectoryEntry, _ channel: ChannelName, _ role: Conversation.Role
    ) throws -> StatementArguments {
        let others = entry.others.flatMap { names in
            names.count <= ConversationLimits.named && names.allSatisfy { (try? UserID($0)) != nil }
                ? names.joined(separator: " ") : nil
        }
        let known = (entry.profiles ?? [:]).filter { (try? $0.value.validate()) != nil }
        let profiles =
            known.isEmpty || known.count > ConversationLimits.named
            ? nil : String(decoding: try ForeignJSON.encode(known), as: UTF8.self)
        return [
            channel.text,
            entry.title.map { PushText.title($0, atMost: PushPayloadLimits.titleBytes) },
            role.rawValue, entry.since ?? 0, entry.members ?? 0, others, entry.muted == true,
            entry.mutedUntil, profiles, entry.archived,
        ]
    }

    /// - Returns: whether it was there.
    private static func update(_ columns: StatementArguments, _ db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: """
                UPDATE channelsConversation SET title = ?2, role = ?3, since = ?4, members = ?5,
                    others = ?6, muted = ?7, mutedUntil = ?8, profiles = ?9, archived = ?10, old = 0,
                    -- One that was left stays so until the server knows, or has the user again.
                    pending = CASE WHEN since = ?4 AND pending IN
                            (\(Pending.left.rawValue), \(Pending.begunAgain.rawValue))
                        AND EXISTS (SELECT 1 FROM entry
                            WHERE kind = '\(Channels.conversationKind.name)' AND lane = ?1
                                AND lane IS NOT NULL AND state < 10)
                        THEN pending ELSE 0 END
                WHERE channel = ?1
                """
        ).execute(arguments: columns)
        return db.changesCount > 0
    }

    private static func insert(_ columns: StatementArguments, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO channelsConversation
                    (channel, title, role, since, members, others, muted, mutedUntil, profiles,
                    archived)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
                """
        ).execute(arguments: columns)
    }

    /// The user begins one here, which the server does not know yet.
    static func begin(
        _ channel: ChannelName, title: String?, role: Conversation.Role, others: [UserID],
        at now: WallTime, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                INSERT INTO channelsConversation
                    (channel, title, role, since, members, others, muted, pending)
                VALUES (?, ?, ?, ?, ?, ?, 0, \(Pending.begun.rawValue))
                ON CONFLICT (channel) DO UPDATE SET pending = \(Pending.begunAgain.rawValue)
                WHERE pending = \(Pending.left.rawValue)
                """,
            arguments: [
                channel.text, title, role.rawValue, now.milliseconds, others.count + 1,
                others.count < ConversationLimits.named
                    ? others.map(\.text).sorted().joined(separator: " ") : nil,
            ])
    }

    /// It stays: begun here, and the server has it; or left here, and the server refuses that.
    static func stay(_ channel: ChannelName, _ pending: Pending..., in db: Database) throws {
        for one in pending {
            try db.execute(
                sql: """
                    UPDATE channelsConversation SET pending = 0 WHERE channel = ? AND pending = ?
                    """,
                arguments: [channel.text, one.rawValue])
        }
    }

    /// The server does not have the user in it: what was begun again is as if begun here.
    static func ended(_ channel: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE channelsConversation SET pending = ? WHERE channel = ? AND pending = ?",
            arguments: [Pending.begun.rawValue, channel.text, Pending.begunAgain.rawValue])
    }

    /// It ends: begun here, and the server refuses it; or left here, and the server has done it.
    static func end(_ channel: ChannelName, _ pending: Pending, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM channelsConversation WHERE channel = ? AND pending = ?",
            arguments: [channel.text, pending.rawValue])
    }

    /// The user leaves it here, which the server does not know yet.
    static func leave(_ channel: ChannelName, _ db: Database) throws {
        try end(channel, .begun, db)
        try db.execute(
            sql: "UPDATE channelsConversation SET pending = ? WHERE channel = ?",
            arguments: [Pending.left.rawValue, channel.text])
    }

    static func set(archived: Int64?, of channel: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE channelsConversation SET archived = ? WHERE channel = ?",
            arguments: [archived, channel.text])
    }

    /// Since when it is archived.
    static func archived(_ channel: ChannelName, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT archived FROM channelsConversation WHERE channel = ?",
            arguments: [channel.text])
    }

    static func set(draft: String?, in channel: ChannelName, _ db: Database) throws {
        guard let draft else {
            return try db.execute(
                sql: "DELETE FROM channelsDraft WHERE channel = ?", arguments: [channel.text])
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO channelsDraft (channel, text) VALUES (?, ?)",
            arguments: [channel.text, draft])
    }

    /// The server has done the user's leave: its draft goes, unless he has begun it again.
    static func dropDraft(ofLeft channel: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM channelsDraft WHERE channel = ?1 AND NOT EXISTS
                    (SELECT 1 FROM channelsConversation
                    WHERE channel = ?1 AND pending = \(Pending.begun.rawValue))
                """,
            arguments: [channel.text])
    }

    /// One that the server refused to begin is given up.
    static func dropDraft(ofAbsent channel: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM channelsDraft WHERE channel = ?1 AND NOT EXISTS
                    (SELECT 1 FROM channelsConversation WHERE channel = ?1)
                """,
            arguments: [channel.text])
    }

    /// Whether another draft fits; where it does not, those without a conversation go first.
    static func hasRoom(forDraftIn channel: ChannelName, _ db: Database) throws -> Bool {
        func hasRoom() throws -> Bool {
            let others = try Int.fetchOne(
                db, sql: "SELECT COUNT(*) FROM channelsDraft WHERE channel <> ?",
                arguments: [channel.text])
            return others ?? 0 < ConversationLimits.drafts
        }
        if try hasRoom() { return true }
        try db.execute(
            sql: """
                DELETE FROM channelsDraft
                WHERE channel NOT IN (SELECT channel FROM channelsConversation)
                """)
        return try hasRoom()
    }

    static func title(of channel: ChannelName, _ db: Database) throws -> String? {
        try String.fetchOne(
            db, sql: "SELECT title FROM channelsConversation WHERE channel = ?",
            arguments: [channel.text])
    }

    /// The others' profiles, by user.
    static func profiles(of channel: ChannelName, _ db: Database) throws -> [UserID: Profile] {
        profiles(
            try String.fetchOne(
                db.cachedStatement(
                    sql: "SELECT profiles FROM channelsConversation WHERE channel = ?"),
                arguments: [channel.text]))
    }

    private static func profiles(_ json: String?) -> [UserID: Profile] {
        let known = json.flatMap {
            try? ForeignJSON.decode([String: Profile].self, from: Array($0.utf8))
        }
        return (known ?? [:]).reduce(into: [:]) { all, one in
            if let user = try? UserID(one.key) { all[user] = one.value }
        }
    }

    static func set(title: String?, of channel: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE channelsConversation SET title = ? WHERE channel = ?",
            arguments: [title, channel.text])
    }

    static func pending(_ db: Database) throws -> Set<ChannelName> {
        Set(
            try String.fetchAll(
                db,
                sql: """
                    SELECT channel FROM channelsConversation WHERE pending IN
                        (\(Pending.begun.rawValue), \(Pending.begunAgain.rawValue))
                    """
            ).compactMap { try? ChannelName($0) })
    }

    /// The channels of all conversations that the server knows.
    static func channels(_ db: Database) throws -> [ChannelName] {
        try String.fetchAll(db, sql: "SELECT channel FROM channelsConversation WHERE pending = 0")
            .compactMap { try? ChannelName($0) }
    }

    /// The channels to follow: those of which the user became a member last.
    static func followed(_ db: Database) throws -> [ChannelName] {
        try String.fetchAll(
            db,
            sql: """
                SELECT channel FROM channelsConversation WHERE pending = 0
                ORDER BY since DESC, channel LIMIT ?
                """,
            arguments: [ConversationLimits.followed]
        ).compactMap { try? ChannelName($0) }
    }

    /// The conversations with the newest messages, newest first: the archived ones, or the others.
    static func newest(
        _ limit: Int, isArchived: Bool, now: WallTime, _ db: Database
    ) throws -> [Conversation] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT a.channel, title, role, since, members, others, muted,
                        mutedUntil, pending, profiles, d.text
                    FROM (
                        SELECT c.*, COALESCE(
                            (SELECT m.time FROM channelsLog AS g JOIN channelsMessage AS m
                                ON m.arrival = (g.id << \(ChannelsTables.arrivalBits)) + g.accepted
                            WHERE g.channel = c.channel ORDER BY g.id DESC LIMIT 1), c.since)
                            AS activity
                        FROM channelsConversation AS c
                        WHERE c.pending <> \(Pending.left.rawValue)
                    ) AS a LEFT JOIN channelsDraft AS d ON d.channel = a.channel
                    WHERE (archived IS NOT NULL AND (activity <= archived
                        OR muted <> 0 AND (mutedUntil IS NULL OR mutedUntil > ?1))) = ?2
                    ORDER BY activity DESC, a.channel
                    LIMIT ?3
                    """),
            arguments: [
                now.milliseconds, isArchived, min(max(limit, 1), ConversationLimits.listed),
            ])
        return try rows.compactMap { try conversation($0, isArchived: isArchived, now: now, db) }
    }

    /// Of a row of ``newest(_:isArchived:now:_:)``.
    private static func conversation(
        _ row: Row, isArchived: Bool, now: WallTime, _ db: Database
    ) throws -> Conversation? {
        guard let channel = try? ChannelName(try row.text(0)),
            let role = Conversation.Role(rawValue: try row.text(2))
        else { return nil }
        let unread = try ReceiptRows.unread(in: channel, db)
        let until = Int64.fromDatabaseValue(row[7]).map { WallTime(milliseconds: $0) }
        let isMuted = try row.integer(6) != 0 && until.map { $0 > now } ?? true
        return Conversation(
            channel: channel, title: try row.optionalText(1), role: role,
            since: WallTime(milliseconds: try row.integer(3)),
            memberCount: Int(clamping: try row.integer(4)),
            others: try row.optionalText(5).map { names in
                names.split(separator: " ").compactMap { try? UserID(String($0)) }
            },
            isMuted: isMuted, mutedUntil: isMuted ? until : nil,
            last: try ListRows(channel: channel).page(before: nil, limit: 1, db).last,
            unread: Int(clamping: unread.count), mentions: Int(clamping: unread.mentions),
            isPending: try row.integer(8) != 0,
            profiles: Self.profiles(try row.optionalText(9)), isArchived: isArchived,
            draft: try row.optionalText(10))
    }
}
