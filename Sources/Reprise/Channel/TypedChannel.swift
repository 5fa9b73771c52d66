public import GRDB
public import RepriseChannels
public import RepriseCore
public import RepriseWire

/// A channel of ``RepriseClient`` whose messages have a body of one type.
///
/// ```swift
/// let general = client.channel("general", of: Note.self)
/// try await general.consume(as: "inbox") { message in
///     if case .body(let note) = message.content { try await inbox.add(note, id: message.id) }
/// }
/// try await general.publish(Note(text: "hello"))
/// for await messages in general.messages(newest: 50) { show(messages) }
/// ```
///
/// A handle costs nothing and stays the same over every account. The first reader, list or
/// ``subscribe()`` subscribes to the channel.
public struct TypedChannel<Body: Sendable>: Sendable {
    /// The channel's name on the server.
    public let name: String
    /// The client whose signed-in account reads and publishes.
    public let client: RepriseClient
    let codec: BodyCodec<Body>

    /// The channel of the current account; the journal is opened for it.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`, and what opening a journal throws.
    func channel() async throws -> Channel {
        try await client.accounts.opened().current.channel(name)
    }

    // MARK: Subscribing

    /// Keeps the channel's messages, old and new, in the journal of this account and every later
    /// one, also without a reader; a channel that the server has refused is requested again.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`, and the journal's errors.
    public func subscribe() async throws {
        try await register("subscription of \(name)", replaces: true) { try await $0.subscribe() }
    }

    /// Ends the subscription; messages in the journal still go to its readers.
    ///
    /// - Throws: what opening a journal throws.
    public func unsubscribe() async throws {
        await client.accounts.registrations.remove("subscription of \(name)")
        try await channel().unsubscribe()
    }

    /// Sets the handler that loads the app's state when messages are lost: when the server's
    /// retention has overtaken this device, or when the channel's log was replaced.
    ///
    /// ```swift
    /// try await general.onSnapshot { request in
    ///     let state = try await api.state(of: request.channel)  // at request.position or later
    ///     try await store.replace(request.channel, with: state)  // durably
    /// }
    /// ```
    ///
    /// Nothing of the channel arrives meanwhile: the state is `beyondRetention`. Once `load`
    /// returns, the channel continues after the position. If it throws, or the process is killed,
    /// it is called again. Without a handler the messages left on the server arrive as messages.
    /// Set it before the channel is read.
    ///
    /// - Parameter load: loads the state, stores it, and returns once it is durable.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func onSnapshot(
        _ load: @escaping @concurrent @Sendable (SnapshotRequest) async throws -> Void
    ) async throws {
        try await register("snapshot of \(name)", replaces: true) { await $0.onSnapshot(load) }
    }

    // MARK: Receiving

    /// Delivers every message to `handler`, in order of arrival, at least once; each is
    /// acknowledged when the handler returns.
    ///
    /// Registered for this account and every later one. Returns at once before the journal is open;
    /// then an error shows in ``RepriseClient/state``. Handlers run while
    /// ``RepriseClient/run()`` runs, one message of a reader at a time; after a kill a reader gets
    /// the few messages again whose effect is unknown (``ReceivedMessage/attempt`` > 1).
    ///
    /// A message whose body cannot be decoded is a dead letter at once, with its bytes. A later
    /// version of the app that can decode it gets it then.
    ///
    /// - Parameters:
    ///   - reader: the reader's name, 1 to 64 bytes, the same in every run.
    ///   - options: what happens to a message whose handler fails or is killed.
    ///   - isApplied: called before a message that may already have been handled is delivered:
    ///     whether the app has stored the effect of this id. It makes the effect exactly once.
    ///   - handler: the effect.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`, `.malformed` for a bad name,
    ///   `.duplicateReader`, `.badConfiguration` if the reader was begun in another order, and the
    ///   journal's errors.
    public func consume(
        as reader: String, options: ReaderOptions = ReaderOptions(),
        isApplied: (@Sendable (EntryID) async throws -> Bool)? = nil,
        handler: @escaping @concurrent @Sendable (ReceivedMessage<Body>) async throws -> Void
    ) async throws {
        let codec = codec
        try await read(reader) { channel in
            try await channel.read(reader, options: options, isApplied: isApplied) { message in
                try await handler(try ReceivedMessage(message, codec))
            }
        }
    }

    /// Passes batches of up to 500 messages to `effect`, inside the journal's own transaction: the
    /// effect is exactly once.
    ///
    /// If `effect` throws, all its writes are rolled back and each message of the batch is tried
    /// alone. It runs on the journal's writer: keep it short, and do nothing outside the database
    /// in it.
    ///
    /// - Parameters:
    ///   - reader: the reader's name, 1 to 64 bytes, the same in every run.
    ///   - options: what happens to a message whose effect throws.
    ///   - effect: writes through GRDB's `Database` alone; may be called again if the transaction
    ///     cannot be committed.
    /// - Throws: as ``consume(as:options:isApplied:handler:)``.
    public func consume(
        as reader: String, options: ReaderOptions = ReaderOptions(),
        inTransaction effect: @escaping @Sendable (Database, [ReceivedMessage<Body>]) throws -> Void
    ) async throws {
        let codec = codec
        try await read(reader) { channel in
            try await channel.read(
                reader, options: options,
                inTransaction: { db, messages in
                    try effect(db, try messages.map { try ReceivedMessage($0, codec) })
                })
        }
    }

    private func read(
        _ reader: String, _ read: @escaping @Sendable (Channel) async throws -> Void
    ) async throws {
        let codec = codec
        try await register("\(reader) of \(name)") { channel in
            try await read(channel)
            for failed in try await channel.failures(of: reader, limit: ClientLimits.reread)
            where failed.status == .dead && failed.reason.hasPrefix(Unreadable.prefix)
                && (try? codec.decode(failed.message.body)) != nil
            {
                try await channel.retry(failed.message.id, reader: reader)
            }
        }
    }

    private func register(
        _ key: String, replaces: Bool = false,
        _ apply: @escaping @Sendable (Channel) async throws -> Void
    ) async throws {
        // Said at once, also before the journal is open.
        _ = try ChannelName(name)
        try await client.accounts.registrations.add(key, replaces: replaces) { [name] account in
            try await apply(try account.channel(name))
        }
    }

    /// The messages that a reader could not handle, with their bytes, oldest first.
    ///
    /// - Parameters:
    ///   - reader: its name.
    ///   - limit: how many at most.
    /// - Returns: at most `limit` of them.
    /// - Throws: the journal's errors.
    public func failures(of reader: String, limit: Int = 100) async throws -> [FailedMessage] {
        try await channel().failures(of: reader, limit: limit)
    }

    /// Delivers a failed message again, at once and with all its attempts.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and the journal's errors.
    public func retry(_ id: EntryID, reader: String) async throws {
        try await channel().retry(id, reader: reader)
    }

    /// Removes a reader that the app no longer has; until then every message counts as pending for
    /// it.
    ///
    /// - Throws: the journal's errors.
    public func forget(_ reader: String) async throws { try await channel().forget(reader) }

    /// Gives a failed message up: it counts as dead, and is not delivered again.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and the journal's errors.
    public func discard(_ id: EntryID, reader: String) async throws {
        try await channel().discard(id, reader: reader)
    }

    /// The states of the current account's readers, by name: which one is stuck or slow, and why.
    public var readers: [String: ReaderState] {
        (try? client.accounts.current?.channel(name).readers) ?? [:]
    }

    /// Waits until the device has everything and the readers of this run have handled it.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if the server refuses the subscription;
    ///   `.closed` if the account ends; `CancellationError`.
    public func caughtUp() async throws { try await channel().caughtUp() }

    /// What the device has of the channel.
    public var state: ChannelState {
        (try? client.accounts.current?.channel(name).state) ?? .closed
    }

    /// The channel's states over every account: the current one, then each change.
    public var states: AsyncStream<ChannelState> { follow { $0.states } }

    // MARK: The list

    /// The newest messages as a list that updates itself, with edits and deletions applied and what
    /// waits to be sent: the current list first, then one after each change.
    ///
    /// The channel is subscribed to, and stays so when the list ends: see ``unsubscribe()``.
    ///
    /// A list is read only on demand: a slow consumer gets the newest, and skips those between. It
    /// goes on with the next account; it ends with its task, or with ``RepriseClient/close()``.
    ///
    /// - Parameter count: the most messages, 1 to 500; fewer if they have more than 4 MiB together.
    /// - Returns: the lists, each oldest first.
    public func messages(newest count: Int = 50) -> AsyncStream<[ListedMessage<Body>]> {
        let codec = codec
        return follow { channel in
            // What the server refuses is the channel's state; a journal's fault meets the list too.
            Task { try await channel.subscribe() }
            return channel.observe(last: count) { list in list.map { ListedMessage($0, codec) } }
        }
    }

    /// One page of messages from the journal, oldest first.
    ///
    /// - Parameters:
    ///   - sequence: only messages before this one; nil: the newest.
    ///   - limit: 1 to 500; fewer if they have more than 4 MiB together.
    /// - Returns: the messages; none at the beginning of what this device has.
    /// - Throws: the journal's errors.
    public func page(before sequence: Int64? = nil, limit: Int = 50) async throws
        -> [ListedMessage<Body>]
    {
        try await channel().messages(before: sequence, limit: limit)
            .map { ListedMessage($0, codec) }
    }

    /// A stream of each account's channel, one account after the other.
    private func follow<Value: Sendable>(
        _ stream: @escaping @Sendable (Channel) -> AsyncStream<Value>
    ) -> AsyncStream<Value> {
        client.follow { [name] account in stream(try account.channel(name)) }
    }

    // MARK: Sending

    /// Records a message for the server; sent as soon as a connection exists, in the order
    /// recorded.
    ///
    /// Returns once it is durable here, not once the server has it.
    ///
    /// - Parameters:
    ///   - body: at most 65,536 bytes of JSON.
    ///   - mentions: the users whom it mentions, at most 50: `notice.mentions` of the body, which
    ///     must be an object without. One who is no member of the channel is not told.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.full`, `.badChannelName`, `.malformed`
    ///   for a body that takes no mentions, what opening a journal throws; an `EncodingError`.
    @discardableResult
    public func publish(
        _ body: Body, mentions: [UserID] = [], id: EntryID = .random()
    ) async throws -> EntryID {
        let json = try Mentions.add(mentions, to: try codec.encode(body))
        return try await channel().publish(json, id: id)
    }

    /// Records a message in a transaction of the journal's: both are durable, or neither is.
    ///
    /// ```swift
    /// try await client.journal.write { db in
    ///     try db.execute(sql: "UPDATE draft SET sent = 1")
    ///     try general.publish(Note(text: "hello"), in: db)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - body: at most 65,536 bytes of JSON.
    ///   - id: its identity; recording the same id again does nothing.
    ///   - db: the database of ``RepriseJournal/Journal/write(_:)`` of the current account.
    /// - Throws: as ``publish(_:mentions:id:)``; `.closed` during a change of accounts; a
    ///   `DatabaseError`, which the transaction must rethrow.
    public func publish(_ body: Body, id: EntryID = .random(), in db: Database) throws {
        guard let account = client.accounts.current else {
            throw RepriseError(.closed, "No journal is open.")
        }
        try account.channel(name).publish(codec.encode(body), id: id, in: db)
    }

    /// Records a message for the server, byte for byte; see ``publish(_:mentions:id:)``.
    ///
    /// - Parameters:
    ///   - rawJSON: one JSON value.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, and as ``publish(_:mentions:id:)``.
    @discardableResult
    public func publish(rawJSON: String, id: EntryID = .random()) async throws -> EntryID {
        try await channel().publish(rawJSON, id: id)
    }

    /// Replaces the body of an own message, also of one that still waits to be sent.
    ///
    /// - Returns: the id of the edit.
    /// - Throws: as ``publish(_:mentions:id:)``.
    @discardableResult
    public func edit(_ id: EntryID, _ body: Body) async throws -> EntryID {
        try await channel().edit(id, String(decoding: codec.encode(body), as: UTF8.self))
    }

    /// Deletes an own message: its sequence stays, its body is blanked everywhere.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full`, and the journal's errors.
    public func delete(_ id: EntryID) async throws { try await channel().delete(id) }

    /// The figures of the current account's channel, for a debug screen.
    ///
    /// - Throws: what opening a journal throws.
    public var diagnostics: ChannelDiagnostics {
        get async throws { try await channel().diagnostics }
    }

    /// The messages that wait to be sent, and the refused ones: to send them again, or to withdraw
    /// them.
    ///
    /// It belongs to the current account.
    public var outbox: Outbox {
        get async throws { try await channel().outbox }
    }

    // MARK: Reading and typing

    /// Reports that the user has read everything up to a message; it never goes back.
    ///
    /// - Throws: the journal's errors.
    public func markRead(upTo message: ReceivedMessage<Body>) async throws {
        try await channel().markRead(through: message.seq)
    }

    /// Reports that the user has read everything up to a message of a list.
    ///
    /// One that the server does not have yet changes nothing.
    ///
    /// - Throws: the journal's errors.
    public func markRead(upTo message: ListedMessage<Body>) async throws {
        guard let seq = message.seq else { return }
        try await channel().markRead(through: seq)
    }

    /// How many messages the user has not read: the current count, then each change.
    public var unread: AsyncStream<Unread> { follow { $0.unread } }

    /// The other users who type: the current ones, then each change.
    public var typists: AsyncStream<[UserID]> { follow { $0.typists } }

    /// The presence of the other members: what is known, then each change.
    ///
    /// ```swift
    /// for await presence in ben.presence {
    ///     title.isOnline = presence.users.values.contains { $0.state == .online }
    /// }
    /// ```
    ///
    /// The device asks the server for it as long as somebody iterates: end it when it is not shown
    /// any more. The server must offer it (`reprise serve --presence`), the user must be a member,
    /// and the channel may have 100 of them at most: in a larger one name those whom you show, with
    /// ``presence(of:)``. Else it is `refused`, with the reason.
    public var presence: AsyncStream<ChannelPresence> { follow { $0.presence } }

    /// The presence of some members, as ``presence``, also in a large channel.
    ///
    /// - Parameter users: at most 100; of more those who come first by name.
    /// - Returns: what is known of them; users who are no members are left out.
    public func presence(of users: Set<UserID>) -> AsyncStream<ChannelPresence> {
        follow { $0.presence(of: users) }
    }

    /// How far the others have read and received: the last known positions, then each change.
    public var positions: AsyncStream<[UserID: ServerFrame.Position]> { follow { $0.positions } }

    /// The user types: call it at each key.
    public func typing() { try? client.accounts.current?.channel(name).typing() }

    /// The user has discarded the text; publishing does this itself.
    public func stopTyping() { try? client.accounts.current?.channel(name).stopTyping() }

    /// Reports whether the channel is on the screen: then it is caught up before others, and its
    /// messages show no banner.
    ///
    /// - Throws: the journal's errors, for `true` alone.
    public func setVisible(_ isVisible: Bool) async throws {
        try await channel().setVisible(isVisible)
    }
}
