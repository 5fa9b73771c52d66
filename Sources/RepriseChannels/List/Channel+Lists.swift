import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

extension Channel {
    /// Messages from the journal, with edits and deletions applied, ordered by sequence.
    ///
    /// ```swift
    /// var page = try await general.messages(limit: 50)          // the newest
    /// page = try await general.messages(before: page.first?.seq, limit: 50)
    /// ```
    ///
    /// It does not wait for missing messages; see ``state``. An empty page is the beginning of the
    /// journal's messages.
    ///
    /// - Parameters:
    ///   - sequence: only messages before this one; nil: the newest.
    ///   - limit: the page size, 1 to 500; fewer messages if they have more than 4 MiB together.
    /// - Returns: the messages, oldest first.
    /// - Throws: the journal's errors.
    public func messages(before sequence: Int64? = nil, limit: Int = 50) async throws
        -> [ChannelMessage]
    {
        try await channels.messages(of: name, before: sequence, limit: limit)
    }

    /// The newest messages as a list that updates itself: the current list first, then one after
    /// each change.
    ///
    /// ```swift
    /// for await messages in general.observe(last: 50) { show(messages) }
    /// ```
    ///
    /// A list is read only on demand: a slow consumer gets the newest, and skips those between.
    /// Nothing of it runs on the main actor. It ends with its task, or when the journal is closed.
    ///
    /// - Parameter count: the most messages, 1 to 500; fewer if they have more than 4 MiB together.
    /// - Returns: the lists, each oldest first.
    public func observe(last count: Int = 50) -> AsyncStream<[ChannelMessage]> {
        observe(last: count) { $0 }
    }

    /// See ``observe(last:)``; each list as something else.
    package func observe<List: Sendable>(
        last count: Int, _ body: @escaping @Sendable ([ChannelMessage]) -> List
    ) -> AsyncStream<List> {
        let watch = channels.watch(name, last: count)
        return AsyncStream { await watch.next().map(body) }
    }
}

extension Channels {
    func messages(of name: ChannelName, before sequence: Int64?, limit: Int) async throws
        -> [ChannelMessage]
    {
        try await journal.read { db in
            try ListRows(channel: name).page(before: sequence, limit: limit, db)
        }
    }

    func watch(_ name: ChannelName, last count: Int) -> ListWatch<[ChannelMessage]> {
        ListWatch(
            name, in: journal, changeNotifier: readers.changeNotifier,
            timekeeper: configuration.timekeeper
        ) {
            [weak self] in
            guard let self else { throw RepriseError(.closed, "The channels are gone.") }
            return try await messages(of: name, before: nil, limit: count)
        }
    }

    /// A value from a channel's tables, read again whenever the channel has changed.
    func watch<Value: Equatable & Sendable>(
        _ name: ChannelName, _ read: @escaping @Sendable (Database) throws -> Value
    ) -> AsyncStream<Value> {
        let watch = ListWatch(
            name, in: journal, changeNotifier: readers.changeNotifier,
            timekeeper: configuration.timekeeper
        ) {
            [journal] in try await journal.read(read)
        }
        return AsyncStream { await watch.next() }
    }
}
