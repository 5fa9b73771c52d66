public import GRDB
public import RepriseCore
public import RepriseWire

/// A named, ordered, durable stream of messages, as seen by this device.
///
/// ```swift
/// let general = try reprise.channel("general")
/// try await general.read("inbox") { message in
///     try await inbox.show(message)
/// }
/// try await general.publish(#"{"text":"hello"}"#)
/// ```
///
/// A handle costs nothing and may be made again at any time. The first reader, or ``subscribe()``,
/// subscribes to the channel.
public struct Channel: Sendable {
    /// Its name.
    public let name: ChannelName
    let channels: Channels

    /// Subscribes to the channel without reading it yet: its messages, old and new, are kept in the
    /// journal.
    ///
    /// A channel that the server has refused is requested again.
    ///
    /// - Throws: the journal's errors.
    public func subscribe() async throws { try await channels.subscribe(name) }

    /// Ends the subscription.
    ///
    /// Messages in the journal still go to its readers.
    public func unsubscribe() async { await channels.unsubscribe(name) }

    /// Delivers every message to `handler`, in order of arrival, at least once; each is
    /// acknowledged when the handler returns.
    ///
    /// Returns once the reader is recorded; handlers run while ``Channels/run()`` runs, one message
    /// of a reader at a time. A new reader begins with the first message in the journal. A reader
    /// of an earlier run continues where it stopped; after a kill it gets the few messages again
    /// whose effect is unknown (``Message/attempt`` > 1).
    ///
    /// When a handler throws, its message is delivered again later, and the others go on; see
    /// ``ReaderOptions``.
    ///
    /// - Parameters:
    ///   - reader: the reader's name, 1 to 64 bytes, the same in every run.
    ///   - options: what happens to a message whose handler fails or is killed.
    ///   - isApplied: called before a message that may already have been handled is delivered:
    ///     whether the app has stored the effect of this id. It makes the effect exactly once.
    ///   - handler: the effect.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a bad name, `.duplicateReader` if
    ///   the reader is already running, `.badConfiguration` if it was begun in another order, and
    ///   the journal's errors.
    public func read(
        _ reader: String, options: ReaderOptions = ReaderOptions(),
        isApplied: (@Sendable (EntryID) async throws -> Bool)? = nil,
        handler: @escaping @Sendable (Message) async throws -> Void
    ) async throws {
        try await channels.read(
            name, reader: reader, options: options,
            effect: .outside(isApplied: isApplied, handler: handler))
    }

    /// Passes batches of up to 500 messages to `effect`, inside the journal's own transaction: the
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
    /// A reader that had a handler in an earlier run may become one of this kind: messages in
    /// flight at that handler during a kill arrive with ``Message/attempt`` 2, because their
    /// effects may have taken place.
    ///
    /// If `effect` throws, all its writes are rolled back and each message of the batch is tried
    /// alone; one that throws again is retried later, and the others go on. It runs on the
    /// journal's writer: keep it short, and do nothing outside the database in it.
    ///
    /// - Parameters:
    ///   - reader: the reader's name, 1 to 64 bytes, the same in every run.
    ///   - options: what happens to a message whose effect throws. A kill leaves no doubt here.
    ///   - effect: writes through `db` alone; may be called again if the transaction cannot be
    ///     committed.
    /// - Throws: as ``read(_:options:isApplied:handler:)``.
    public func read(
        _ reader: String, options: ReaderOptions = ReaderOptions(),
        inTransaction effect: @escaping @Sendable (Database, [Message]) throws -> Void
    ) async throws {
        try await channels.read(name, reader: reader, options: options, effect: .inside(effect))
    }

    /// Removes a reader that the app no longer has, with its position and its failures.
    ///
    /// Until then every message counts as pending for it.
    ///
    /// - Parameter reader: its name.
    /// - Throws: the journal's errors.
    public func forget(_ reader: String) async throws {
        try await channels.forget(reader, in: name)
    }

    /// Records a message for the server; sent as soon as a connection exists, in the order
    /// recorded.
    ///
    /// Returns once it is durable here, not once the server has it.
    ///
    /// - Parameters:
    ///   - json: one JSON value, at most ``RepriseWire/WireLimits/bodyBytes``.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.full`, and the journal's
    ///   errors.
    @discardableResult
    public func publish(_ json: String, id: EntryID = .random()) async throws -> EntryID {
        try await publish(Array(json.utf8), id: id)
    }

    /// Records a message for the server; sent as soon as a connection exists, in the order
    /// recorded.
    ///
    /// Returns once it is durable here, not once the server has it.
    ///
    /// - Parameters:
    ///   - json: one JSON value in UTF-8, at most ``RepriseWire/WireLimits/bodyBytes``; sent byte
    ///     for byte.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.full`, and the journal's
    ///   errors.
    @discardableResult
    public func publish(_ json: [UInt8], id: EntryID = .random()) async throws -> EntryID {
        try await channels.publish(json, id: id, to: name)
    }

    /// Records a message in the current transaction: message and transaction are durable together,
    /// or neither is.
    ///
    /// - Parameters:
    ///   - json: one JSON value in UTF-8, at most ``RepriseWire/WireLimits/bodyBytes``.
    ///   - id: its identity; recording the same id again does nothing.
    ///   - db: the database of ``RepriseJournal/Journal/write(_:)``.
    /// - Throws: as ``publish(_:id:)-(String,_)``; a `DatabaseError`, which the body must rethrow.
    public func publish(_ json: [UInt8], id: EntryID = .random(), in db: Database) throws {
        try channels.publish(json, id: id, to: name, in: db)
    }

    /// Replaces the body of an earlier message; sent after earlier publications.
    ///
    /// Only its author may, and not after a deletion; the server refuses other edits, which become
    /// dead letters.
    ///
    /// - Parameters:
    ///   - id: the message's id; it may still wait to be sent.
    ///   - json: the new body: one JSON value, at most ``RepriseWire/WireLimits/bodyBytes``.
    /// - Returns: the id of the edit.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.full`, and the journal's
    ///   errors.
    @discardableResult
    public func edit(_ id: EntryID, _ json: String) async throws -> EntryID {
        try await channels.publish(Array(json.utf8), id: .random(), edits: id, to: name)
    }

    /// Deletes an earlier message: its sequence stays, its body is blanked everywhere.
    ///
    /// A message of this user that was never sent is removed at once; see ``Outbox/withdraw(_:)``.
    ///
    /// - Parameter id: the message's id.
    /// - Throws: ``RepriseCore/RepriseError`` `.full`, and the journal's errors.
    public func delete(_ id: EntryID) async throws { try await channels.delete(id, in: name) }

    /// The messages that wait to be sent to this channel, and its dead letters.
    public var outbox: Outbox { Outbox(channels: channels, channel: name) }

    /// The channel's current state.
    public var state: ChannelState { channels.state(of: name) }

    /// The channel's state: the current one, then each change.
    ///
    /// Buffers the newest 64 values; older ones are dropped.
    public var states: AsyncStream<ChannelState> { channels.states(of: name) }

    /// Waits until the channel is ``ChannelState/live`` and the readers of this run have handled
    /// everything that arrived until then.
    ///
    /// It waits for a stuck or slow reader: ``readers`` tells which, and why. It does not wait for
    /// a message that awaits another attempt; it does wait for the messages behind it in an ordered
    /// reader.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if the server refuses the subscription;
    ///   `.closed`, `.ownershipLost`; `CancellationError`.
    public func caughtUp() async throws { try await channels.caughtUp(name) }

    /// The messages that a reader could not handle: waiting for another attempt, dead, or
    /// unconfirmed; oldest first.
    ///
    /// - Parameters:
    ///   - reader: its name.
    ///   - limit: how many at most.
    /// - Returns: at most `limit` of them.
    /// - Throws: the journal's errors.
    public func failures(of reader: String, limit: Int = 100) async throws -> [FailedMessage] {
        try await channels.failures(of: reader, in: name, limit: limit)
    }

    /// Delivers a waiting, dead or unconfirmed message again, at once and with all its attempts.
    ///
    /// - Parameters:
    ///   - id: the message.
    ///   - reader: the reader's name.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and the journal's errors.
    public func retry(_ id: EntryID, reader: String) async throws {
        try await channels.retry(id, reader: reader, in: name)
    }

    /// Gives a message up: it is not retried, and counts as dead.
    ///
    /// - Parameters:
    ///   - id: the message.
    ///   - reader: the reader's name.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and the journal's errors.
    public func discard(_ id: EntryID, reader: String) async throws {
        try await channels.discard(id, reader: reader, in: name)
    }
}

extension Channel {
    /// Reports whether the channel is on screen.
    ///
    /// A visible channel is subscribed to, and caught up before the others: during a catch-up of
    /// many channels it is requested again, first. A channel that is no longer visible stays
    /// subscribed to; from the next request on it has no priority. The last call counts.
    ///
    /// - Throws: the journal's errors, for `true` alone.
    public func setVisible(_ isVisible: Bool) async throws {
        let notifier = channels.readers.changeNotifier
        guard isVisible else {
            notifier.tell(.disappeared(name))
            return await channels.driver.disappeared(name)
        }
        notifier.tell(.appeared(name))
        await channels.driver.appeared(name)
        try await subscribe()
    }
}

/// A request for state that the app has to load, because messages of a channel will never arrive.
public struct SnapshotRequest: Hashable, Sendable {
    /// The channel whose messages are missing.
    public let channel: ChannelName
    /// The epoch of its log.
    public let epoch: Epoch
    /// The loaded state must contain everything up to here; later messages arrive as messages.
    public let position: Int64
    /// The missing sequences; those of the former log, if that was replaced.
    public let lost: [SequenceRange]
    /// `.retention` or `.epoch`.
    public let reason: Gone.Reason
    /// How often it has been requested in this run, this time included.
    public let attempt: Int
}

extension Channel {
    /// Loads the state of a snapshot and stores it durably.
    public typealias SnapshotHandler = @Sendable (SnapshotRequest) async throws -> Void

    /// Sets the handler that loads a snapshot when messages are lost: when the server's retention
    /// has overtaken this device, or when the channel's log was replaced.
    ///
    /// ```swift
    /// await general.onSnapshot { request in
    ///     let state = try await api.state(of: request.channel)  // at request.position or later
    ///     try await store.replace(request.channel, with: state)  // durably
    /// }
    /// ```
    ///
    /// The position is recorded before the handler is called. Nothing of the channel arrives
    /// meanwhile: the state is ``ChannelState/beyondRetention(lost:)``. Once `load` returns, the
    /// subscription continues after the position; earlier missing messages count as contained in
    /// the snapshot. If it throws it is called again, with growing pauses; after a kill it is
    /// called again with the same position. The ledger counts the loss either way.
    ///
    /// Without a handler the messages left on the server arrive as messages. Set it before the
    /// channel is read or subscribed to.
    ///
    /// - Parameter load: loads the state, stores it, and returns once it is durable; may be called
    ///   again after a kill.
    public func onSnapshot(_ load: @escaping SnapshotHandler) async {
        await channels.driver.takeSnapshots(name, with: load)
    }
}
