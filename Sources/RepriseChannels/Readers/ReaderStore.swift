package import RepriseCore
import RepriseJournal
import RepriseWire

/// A message as stored in the journal.
package struct Arrived: Hashable, Sendable {
    package var arrival: Int64
    /// Its position in its reader's order.
    package var position: Int64
    package var message: Message
    /// Why its row is unreadable, if it is: it ends as a dead letter, and the rest goes on.
    package var damage: RepriseError?

    /// Without a position its reader reads by arrival.
    package init(
        arrival: Int64, position: Int64? = nil, message: Message, damage: RepriseError? = nil
    ) {
        self.arrival = arrival
        self.position = position ?? arrival
        self.message = message
        self.damage = damage
    }
}

/// The rows of one reader, in the journal.
package struct ReaderStore: Sendable {
    /// A reader's position.
    package struct Position: Hashable, Sendable {
        package var reader: Int64
        package var cursor: Int64

        package init(reader: Int64, cursor: Int64) {
            self.reader = reader
            self.cursor = cursor
        }
    }

    /// A message that was not finished in order: it failed, or is in doubt.
    package struct Exceptional: Hashable, Sendable {
        package var arrived: Arrived
        /// How often it had been delivered.
        package var attempts: Int
        package var failures: Int

        package init(arrived: Arrived, attempts: Int, failures: Int) {
            self.arrived = arrived
            self.attempts = attempts
            self.failures = failures
        }
    }

    /// The due messages.
    package struct Due: Hashable, Sendable {
        /// Oldest first, at most ``ReaderStore/dueLimit``.
        package var messages: [Exceptional]
        /// When the next one after them is due.
        package var next: WallTime?

        package init(messages: [Exceptional], next: WallTime?) {
            self.messages = messages
            self.next = next
        }
    }

    package enum State: Int64, Sendable { case waiting, dispatched, dead, unconfirmed }

    package static let pageLimit = 500
    package static let pageBytes = 1_048_576
    package static let dueLimit = 100
    package static let interruption =
        "The process ended while the message was with its handler."

    let journal: Journal
    let rows: ReaderRows

    init(
        journal: Journal, channel: ChannelName, name: String,
        order: ReaderOptions.Order = .arrival
    ) {
        self.journal = journal
        rows = ReaderRows(channel: channel, name: name, order: order)
    }

    func begin(_ options: ReaderOptions) async throws -> Position {
        try await journal.write { [rows, journal] db in
            try rows.begin(options, now: journal.now, db)
        }
    }

    func page(after cursor: Int64) async throws -> [Arrived] {
        try await journal.read { [rows] db in try rows.page(after: cursor, db) }
    }

    func due(_ reader: Int64, now: WallTime) async throws -> Due {
        try await journal.read { [rows] db in try rows.due(reader, now: now, db) }
    }

    func newest() async throws -> Int64 {
        try await journal.read { [rows] db in try rows.newest(db) }
    }

    func failures(limit: Int) async throws -> [FailedMessage] {
        try await journal.read { [rows] db in try rows.failures(limit: limit, db) }
    }

    func restate(_ id: EntryID, as state: State) async throws {
        try await journal.write { [rows, journal] db in
            try rows.restate(id, as: state, now: journal.now, db)
        }
    }

    func forget() async throws { try await journal.write { [rows] db in try rows.forget(db) } }
}
