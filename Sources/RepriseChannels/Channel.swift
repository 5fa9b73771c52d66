public import GRDB
public import RepriseCore
public import RepriseWire

/// A named, ordered, durable stream of messages, as this device takes part in it.
///
/// ```swift
/// let general = try reprise.channel("general")
/// try await general.read("inbox") { message in
///     try await inbox.show(message)
/// }
/// try await general.publish(#"{"text":"hello"}"#)
/// ```
///
/// A handle costs nothing and may be made again at any time. The channel is subscribed to from its
/// first reader, or from ``subscribe()``, on.
public struct Channel: Sendable {
    /// Its name.
    public let name: ChannelName
    let channels: Channels

    /// Asks for everything the channel has and for what comes, without reading it yet: it is kept
    /// in the journal.
    ///
    /// A channel that the server has refused is asked for again.
    ///
    /// - Throws: what the journal throws.
    public func subscribe() async throws { try await channels.subscribe(name) }

    /// Ends the subscription.
    ///
    /// What is in the journal goes on to its readers.
    public func unsubscribe() async { await channels.unsubscribe(name) }

    /// Hands every message to `handler`, in order of arrival, at least once; each is acknowledged
    /// when the handler returns.
    ///
    /// Returns once the reader is recorded; handlers run while ``Channels/run()`` runs, one message
    /// of a reader at a time. A new reader begins with the first message that the journal has. A
    /// reader that was there in an earlier run goes on where it stopped; after a kill it gets the
    /// few messages again of which nobody knows (``Message/attempt`` > 1).
    ///
    /// A handler that throws gets the message again later, and the others go on; see
    /// ``ReaderOptions``.
    ///
    /// - Parameters:
    ///   - reader: the reader's name, 1 to 64 bytes, the same in every run.
    ///   - options: what becomes of a message whose handler fails or is killed.
    ///   - isApplied: asked before a message is handed over that may have been handled already:
    ///     whether the app has stored the effect of this id. With it the effect is exactly once.
    ///   - handler: the effect.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a bad name, `.duplicateReader` if
    ///   the reader is running already, `.badConfiguration` if it was begun in another order, and
    ///   what the journal throws.
    public func read(
        _ reader: String, options: ReaderOptions = ReaderOptions(),
        isApplied: (@Sendable (EntryID) async throws -> Bool)? = nil,
        handler: @escaping @Sendable (Message) async throws -> Void
    ) async throws {
        try await channels.read(
            name, reader: reader, options: options,
            effect: .outside(isApplied: isApplied, handler: handler))
    }

    /// Hands batches of up to 500 messages to `effect`, inside the journal's own transaction: the
    /// effect is exactly once.
    ///
    /// ```swift
    /// try await general.read("totals", inTransaction: { db, messages in
    ///     for message in messages {
    ///         try db.execute(sql: "INSERT INTO total VALUES (?, ?)", arguments: […])
    ///     }
    /// })
    /// ```
    ///
    /// A reader that had a handler in an earlier run may become one of this kind: what that handler
    /// had in hand at a kill comes with ``Message/attempt`` 2, because its effect may have taken
    /// place.
    ///
    /// If `effect` throws, everything it wrote is rolled back and each message of the batch is
    /// tried alone; one that throws again is retried later, and the others go on. It runs on the
    /// journal's writer: keep it short, and do nothing outside the database in it.
    ///
    /// - Parameters:
    ///   - reader: the reader's name, 1 to 64 bytes, the same in every run.
    ///   - options: what becomes of a message whose effect throws. A kill leaves no doubt here.
    ///   - effect: writes with `db` alone; may be called again if the transaction cannot be
    ///     committed.
    /// - Throws: as ``read(_:options:isApplied:handler:)``.
    public func read(
        _ reader: String, options: ReaderOptions = ReaderOptions(),
        inTransaction effect: @escaping @Sendable (Database, [Message]) throws -> Void
    ) async throws {
        try await channels.read(name, reader: reader, options: options, effect: .inside(effect))
    }

    /// Removes a reader that the app does not have any more, with its position and its failures.
    ///
    /// Until then every message counts as pending for it.
    ///
    /// - Parameter reader: its name.
    /// - Throws: what the journal throws.
    public func forget(_ reader: String) async throws {
        try await channels.forget(reader, in: name)
    }

    /// Records a message for the server; it is sent as soon as there is a connection, in the order
    /// recorded.
    ///
    /// Returns once it is durable here, not once the server has it.
    ///
    /// - Parameters:
    ///   - json: one JSON value, at most ``RepriseWire/WireLimits/bodyBytes``.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.full`, and what the
    ///   journal throws.
    @discardableResult
    public func publish(_ json: String, id: EntryID = .random()) async throws -> EntryID {
        try await publish(Array(json.utf8), id: id)
    }

    /// Records a message for the server; it is sent as soon as there is a connection, in the order
    /// recorded.
    ///
    /// Returns once it is durable here, not once the server has it.
    ///
    /// - Parameters:
    ///   - json: one JSON value in UTF-8, at most ``RepriseWire/WireLimits/bodyBytes``; it stays
    ///     these bytes.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.full`, and what the
    ///   journal throws.
    @discardableResult
    public func publish(_ json: [UInt8], id: EntryID = .random()) async throws -> EntryID {
        try await channels.publish(json, id: id, to: name)
    }

    /// Records a message in a transaction that is under way: what it is the effect of is durable
    /// with it, or neither is.
    ///
    /// - Parameters:
    ///   - json: one JSON value in UTF-8, at most ``RepriseWire/WireLimits/bodyBytes``.
    ///   - id: its identity; recording the same id again does nothing.
    ///   - db: of ``RepriseJournal/Journal/write(_:)``.
    /// - Throws: as ``publish(_:id:)-(String,_)``; a `DatabaseError` for the body to let pass.
    public func publish(_ json: [UInt8], id: EntryID = .random(), in db: Database) throws {
        try channels.publish(json, id: id, to: name, in: db)
    }

    /// Replaces the body of an earlier message; sent behind what was published before.
    ///
    /// Only its author may, and not once it was deleted; the server refuses others, and the edit is
    /// a dead letter.
    ///
    /// - Parameters:
    ///   - id: of the message, which may still wait to be sent.
    ///   - json: the new body: one JSON value, at most ``RepriseWire/WireLimits/bodyBytes``.
    /// - Returns: the id of the edit.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.full`, and what the
    ///   journal throws.
    @discardableResult
    public func edit(_ id: EntryID, _ json: String) async throws -> EntryID {
        try await channels.publish(Array(json.utf8), id: .random(), edits: id, to: name)
    }

    /// Deletes an earlier message: its sequence stays, its body is blanked wherever it is.
    ///
    /// One of one's own that was never sent is gone at once; see ``Outbox/withdraw(_:)``.
    ///
    /// - Parameter id: of the message.
    /// - Throws: ``RepriseCore/RepriseError`` `.full`, and what the journal throws.
    public func delete(_ id: EntryID) async throws { try await channels.delete(id, in: name) }

    /// What waits to be sent to this channel, and what will not be.
    public var outbox: Outbox { Outbox(channels: channels, channel: name) }

    /// Where the channel stands now.
    public var state: ChannelState { channels.state(of: name) }

    /// Where the channel stands: first now, then each change.
    ///
    /// Who reads slowly gets the newest 64.
    public var states: AsyncStream<ChannelState> { channels.states(of: name) }

    /// Waits until the channel is ``ChannelState/live`` and the readers of this run have been
    /// through all that came until then.
    ///
    /// While a reader is stuck or slow it waits: ``readers`` says which, and why. A message that
    /// waits for another attempt does not keep it waiting; where a reader goes in order what stands
    /// behind it does.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if the server refuses the subscription;
    ///   `CancellationError`.
    public func caughtUp() async throws { try await channels.caughtUp(name) }

    /// The messages that a reader could not handle: waiting for another attempt, dead, or
    /// unconfirmed; oldest first.
    ///
    /// - Parameters:
    ///   - reader: its name.
    ///   - limit: how many at most.
    /// - Returns: at most `limit` of them.
    /// - Throws: what the journal throws.
    public func failures(of reader: String, limit: Int = 100) async throws -> [FailedMessage] {
        try await channels.failures(of: reader, in: name, limit: limit)
    }

    /// Hands a message that waits, is dead or unconfirmed over again, at once and with all its
    /// attempts.
    ///
    /// - Parameters:
    ///   - id: the message.
    ///   - reader: the reader's name.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and what the journal throws.
    public func retry(_ id: EntryID, reader: String) async throws {
        try await channels.retry(id, reader: reader, in: name)
    }

    /// Gives a message up: it is not tried again, and counts as dead.
    ///
    /// - Parameters:
    ///   - id: the message.
    ///   - reader: the reader's name.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and what the journal throws.
    public func discard(_ id: EntryID, reader: String) async throws {
        try await channels.discard(id, reader: reader, in: name)
    }
}
