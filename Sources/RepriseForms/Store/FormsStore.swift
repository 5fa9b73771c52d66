package import Foundation
package import GRDB
package import RepriseCore
package import RepriseJournal
package import RepriseWire

/// Persistent state of the feature: catalogues, showings and their user.
package struct FormsStore: Sendable {
    package let journal: Journal

    package init(journal: Journal) { self.journal = journal }

    // MARK: Catalogues

    /// The last response of a server.
    package struct Cached: Hashable, Sendable {
        package var text: FormsCatalogue
        package var etag: String?
    }

    /// - Returns: nil if none is readable: then it is fetched again.
    package func cached(company: String) async throws -> Cached? {
        try await journal.read { db in
            let row = try Row.fetchOne(
                db, sql: "SELECT bytes, etag FROM formsCatalogue WHERE company = ?",
                arguments: [company])
            guard let row, let bytes = Data.fromDatabaseValue(row[0]),
                let text = try? FormsCatalogue(Array(bytes))
            else { return nil }
            return Cached(text: text, etag: String.fromDatabaseValue(row[1]))
        }
    }

    /// Keeps the catalogue of the current company; deletes those of others.
    package func keep(_ cached: Cached, company: String) async throws {
        let seconds = cached.text.longest
        try await journal.write { db in
            try db.execute(
                sql: "DELETE FROM formsCatalogue WHERE company <> ?", arguments: [company])
            try db.execute(
                sql: "INSERT OR REPLACE INTO formsCatalogue VALUES (?, ?, ?, ?, ?)",
                arguments: [
                    company, cached.text.version, cached.etag, seconds, Data(cached.text.bytes),
                ])
        }
    }

    // MARK: Showings

    /// The reply to a page that requests permission to show a form.
    package enum Permission: Hashable, Sendable {
        case granted(showing: String)
        case denied(reason: String)
        /// Its conditions hold, and the app has yet to say whether it may be shown.
        case undecided
        /// Its quiet time is over at this moment.
        case postponed(until: WallTime, by: Duration)
    }

    /// Decides whether a form may be shown for an event; durable when it returns.
    ///
    /// A grant to an earlier page that died is renewed, unless another showing that counts with it
    /// came meanwhile. It counts once, from now on.
    ///
    /// - Parameters:
    ///   - event: the event that it is for.
    ///   - form: its id.
    ///   - catalogue: the one in use.
    ///   - zone: of quiet times.
    ///   - asksApp: whether the app decides about a form that was not granted before.
    /// - Returns: the decision.
    /// - Throws: as the journal throws.
    package func leave(
        for event: EntryID, form: String, in catalogue: FormsCatalogue,
        zone: TimeZone = DeviceZone.now, asksApp: Bool = false
    ) async throws -> Permission {
        let id = EntryID.random().text
        // The calendar as of the transaction: one that was read before may have been set since, and
        // a cap would last for years.
        return try await journal.write { [journal] db in
            try Self.leave(
                for: event, form: form, in: catalogue, as: id, at: journal.now, zone: zone,
                asksApp: asksApp, db)
        }
    }

    /// The same within a transaction; `id` is that of a new showing.
    package static func leave(
        for event: EntryID, form: String, in catalogue: FormsCatalogue, as id: String,
        at now: WallTime, zone: TimeZone, asksApp: Bool, _ db: Database
    ) throws -> Permission {
        guard let shown = catalogue.form(form) else { return .denied(reason: "unknownForm") }
        guard let entry = try Journal.entry(event, in: db), !entry.state.isFinished else {
            return .denied(reason: "settled")
        }
        let former = try former(event, form, db)
        let facts = StoredFacts(db: db, former: former)
        switch try catalogue.decision(on: shown, facts, at: now, in: zone) {
        case .allowed: break
        case .denied(let reason):
            try FormsDecisionRow(form: form, reason: reason.rawValue).write(event, at: now, db)
            return .denied(reason: reason.rawValue)
        case .quiet(let until): return .postponed(until: until, by: now.duration(to: until))
        }
        if let former {
            try db.cachedStatement(sql: "UPDATE formsShowing SET granted = ? WHERE id = ?")
                .execute(arguments: [now.milliseconds, former])
            return .granted(showing: former)
        }
        if asksApp { return .undecided }
        try db.cachedStatement(
            sql: "INSERT INTO formsShowing (id, entry, form, granted) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [id, event.text, form, now.milliseconds])
        return .granted(showing: id)
    }

    private static func former(_ event: EntryID, _ form: String, _ db: Database) throws -> String? {
        try String.fetchOne(
            db,
            sql: "SELECT id FROM formsShowing WHERE entry = ? AND form = ? AND appeared IS NULL",
            arguments: [event.text, form])
    }

    /// The events whose showing is uncertain.
    package func doubtful(_ events: [EntryID]) async throws -> Set<EntryID> {
        try await journal.read { db in try Self.doubtful(events, db) }
    }

    package static func doubtful(_ events: [EntryID], _ db: Database) throws -> Set<EntryID> {
        let found = try events.filter { event in
            try Bool.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT EXISTS
                        (SELECT 1 FROM formsShowing WHERE entry = ? AND appeared IS NULL)
                        """), arguments: [event.text]) ?? false
        }
        return Set(found)
    }

    /// Written in the transaction that ends the event.
    func appeared(_ showing: String) -> @Sendable (Database) throws -> Void {
        { [journal] db in try Self.appeared(showing, at: journal.now.milliseconds, db) }
    }

    package static func appeared(_ showing: String, at now: Int64, _ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE formsShowing SET appeared = ? WHERE id = ? AND appeared IS NULL"
        ).execute(arguments: [now, showing])
    }

    func dismissed(_ showing: String, how: String) async throws {
        try await journal.write { [journal] db in
            try Self.end(showing, how, at: journal.now.milliseconds, db)
        }
    }

    package static func end(_ showing: String, _ how: String, at now: Int64, _ db: Database) throws
    {
        try db.cachedStatement(
            sql: """
                UPDATE formsShowing SET dismissed = ?, how = ? WHERE id = ? AND dismissed IS NULL
                """
        ).execute(arguments: [now, how, showing])
    }

    /// What is recorded with an event whose form is put off.
    func put(
        off event: EntryID, _ row: FormsDecisionRow
    ) -> @Sendable (Database) throws -> Void {
        { [journal] db in try row.write(event, at: journal.now, db) }
    }

    // MARK: Attributes

    func set(_ attributes: [String: FormsAttribute?]) async throws {
        try await journal.write { db in try Self.set(attributes, db) }
    }

    /// The same within a transaction.
    package static func set(_ attributes: [String: FormsAttribute?], _ db: Database) throws {
        for (name, attribute) in attributes {
            if let attribute {
                try db.execute(
                    sql: "INSERT OR REPLACE INTO formsAttribute VALUES (?, ?)",
                    arguments: [name, attribute.json])
            } else {
                try db.execute(
                    sql: "DELETE FROM formsAttribute WHERE name = ?", arguments: [name])
            }
        }
        let count = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM formsAttribute") ?? 0
        guard count <= FormsEngineLimits.attributes else {
            throw RepriseError(
                .full, "A person has at most \(FormsEngineLimits.attributes) attributes.",
                remedy: "Remove those that no form needs: set them to nil.")
        }
    }

    func attributes() async throws -> [String: FormsAttribute] {
        try await journal.read { db in
            guard case .object(let found) = try StoredFacts(db: db, former: nil).attributes() else {
                return [:]
            }
            return found.compactMapValues { FormsAttribute($0) }
        }
    }

    // MARK: Identity

    /// The user and company of events and showings.
    package struct Identity: Hashable, Sendable {
        package var user: String?
        package var company: String?

        package init(user: String? = nil, company: String? = nil) {
            self.user = user
            self.company = company
        }
    }

    package func identity() async throws -> Identity {
        try await journal.read { db in try Self.identity(db) }
    }

    /// Changes the user or company, and ends the former's entries if the change declares an
    /// outcome.
    func change(
        _ change: @escaping @Sendable (inout Identity) -> (outcome: Outcome, reason: String)?
    ) async throws -> (Identity, isCleared: Bool) {
        try await journal.write { [journal] db in
            try Self.change(change, db) { kinds, outcome, reason in
                try journal.endAll(of: kinds, as: outcome, reason: reason, in: db)
            }
        }
    }

    /// The same in a transaction that is under way; `endAll` ends all entries of some kinds.
    package static func change(
        _ change: (inout Identity) -> (outcome: Outcome, reason: String)?, _ db: Database,
        endAll: (_ kinds: [String], Outcome, _ reason: String) throws -> Void
    ) throws -> (Identity, isCleared: Bool) {
        var identity = try Self.identity(db)
        let clearing = change(&identity)
        try db.execute(
            sql: "UPDATE formsIdentity SET user = ?, company = ?",
            arguments: [identity.user, identity.company])
        guard let clearing else { return (identity, false) }
        try endAll([FormsEvent.family, FormsEvent.link], clearing.outcome, clearing.reason)
        try db.execute(sql: "DELETE FROM formsShowing")
        // Forms are the company's; attributes and events are the person's.
        let isOther = clearing.outcome != .superseded
        try db.execute(
            sql: "DELETE FROM formsPast" + (isOther ? "" : " WHERE what <> 'event'"))
        if isOther { try db.execute(sql: "DELETE FROM formsAttribute") }
        return (identity, true)
    }

    private static func identity(_ db: Database) throws -> Identity {
        let row = try Row.fetchOne(db, sql: "SELECT user, company FROM formsIdentity")
        return Identity(
            user: row.flatMap { String.fromDatabaseValue($0[0]) },
            company: row.flatMap { String.fromDatabaseValue($0[1]) })
    }
}

extension EntryState {
    fileprivate var isFinished: Bool { if case .finished = self { true } else { false } }
}

extension FormsCatalogue {
    /// The longest time over which anything is counted, in seconds.
    fileprivate var longest: Int64 {
        max(frequency?.seconds ?? 0, forms.compactMap(\.frequency?.seconds).max() ?? 0)
    }
}

/// Records deep links, events and answers of forms, each once by its id, before the page gets its
/// reply.
extension FormsStore {
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` for a link that no app should follow,
    ///   `.malformed`, `.tooLarge`, and as the journal throws.
    func record(_ action: PageMessage.Action, id: String, of form: String) async throws {
        switch action {
        case .deepLink(let url):
            guard DeepLink.isAllowed(url) else {
                throw RepriseError(.refused, "An app is not sent to such a place.")
            }
            var payload = JSONWriter()
            payload.object { json in
                json.key("url")
                json.string(url)
                json.key("form")
                json.string(form)
            }
            try await journal.record(
                NewEntry(
                    id: Self.entryID(id), kind: FormsEvent.link, source: "form",
                    payload: payload.bytes))
        case .emit(let name, let properties):
            let content = try EventContent(name: name, properties: properties)
            try await journal.record(content.entry(id: Self.entryID(id), source: "form"))
        }
    }

    /// Answers and the end of their showing in one transaction.
    func submit(
        _ id: String, _ answers: [UInt8], _ screen: FormsMachine.FormOnScreen,
        record: @escaping Forms.Answers
    ) async throws {
        try await journal.write { [journal] db in
            let user = try Self.identity(db).user
            let body = Self.body(answers, screen, user: user)
            try record(body, Self.entryID(id), db)
            try Self.end(screen.showing.id, "submitted", at: journal.now.milliseconds, db)
        }
    }

    private static func body(
        _ answers: [UInt8], _ screen: FormsMachine.FormOnScreen, user: String?
    ) -> [UInt8] {
        var body = JSONWriter(reserving: answers.count + 256)
        body.object { json in
            json.key("form")
            json.string(screen.showing.form)
            json.key("catalogue")
            json.string(screen.catalogue)
            json.key("event")
            json.plain(screen.showing.event.text)
            json.key("showing")
            json.plain(screen.showing.id)
            if let user {
                json.key("user")
                json.string(user)
            }
            json.key("answers")
            json.raw(answers)
        }
        return body.bytes
    }

    /// 32 hexadecimal digits after a prefix: always an id.
    private static func entryID(_ id: String) -> EntryID { EntryID(unchecked: "forms-" + id) }
}
