import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// The readers of this process.
final class Readers: Sendable {
    struct Key: Hashable, Sendable {
        var channel: ChannelName
        var name: String
    }

    /// Where a reader's effect takes place.
    enum Effect: Sendable {
        case outside(
            isApplied: (@Sendable (EntryID) async throws -> Bool)?,
            handler: @Sendable (Message) async throws -> Void)
        case inside(@Sendable (Database, [Message]) throws -> Void)
    }

    private struct State {
        /// By channel, so that a message looks only at its own; nil while it is being made.
        var readers: [ChannelName: [String: (any Reader)?]] = [:]
        var tasks: [Key: Task<Void, any Error>] = [:]
        /// Passes new readers to `run`, while that runs.
        var newcomers: AsyncStream<Key>.Continuation?

        mutating func remove(_ key: Key) {
            readers[key.channel]?.removeValue(forKey: key.name)
            if readers[key.channel]?.isEmpty == true { readers[key.channel] = nil }
        }
    }

    /// For observers of a channel's messages that do not read them one by one.
    let changeNotifier = ChannelChangeNotifier()
    private let journal: Journal
    private let configuration: Channels.Configuration
    private let state = Mutex(State())

    init(journal: Journal, configuration: Channels.Configuration) {
        self.journal = journal
        self.configuration = configuration
    }

    func add(_ key: Key, options: ReaderOptions, effect: Effect) async throws {
        guard (1...64).contains(key.name.utf8.count) else {
            throw RepriseError(.malformed, "A reader's name has 1 to 64 bytes.")
        }
        let isFree = state.withLock { state in
            guard state.readers[key.channel]?[key.name] == nil else { return false }
            state.readers[key.channel, default: [:]].updateValue(nil, forKey: key.name)
            return true
        }
        guard isFree else {
            throw RepriseError(
                .duplicateReader,
                "The reader \(key.name) of \(key.channel) is running already.",
                remedy: "Give each reader a name of its own.")
        }
        do {
            let reader = try await make(key, options: options, effect: effect)
            state.withLock { state in
                state.readers[key.channel, default: [:]].updateValue(reader, forKey: key.name)
                _ = state.newcomers?.yield(key)
            }
        } catch {
            state.withLock { $0.remove(key) }
            throw error
        }
    }

    private func make(_ key: Key, options: ReaderOptions, effect: Effect) async throws
        -> any Reader
    {
        let store = store(key, order: options.order)
        let position = try await store.begin(options)
        let line = ReaderLine(
            store: store, position: position, options: options, configuration: configuration
        ) { [changeNotifier] in changeNotifier.notify(key.channel) }
        switch effect {
        case .outside(let isApplied, let handler):
            return AtLeastOnceReader(line: line, isApplied: isApplied, handler: handler)
        case .inside(let effect):
            return TransactionalReader(line: line, effect: effect)
        }
    }

    func store(_ key: Key, order: ReaderOptions.Order = .arrival) -> ReaderStore {
        ReaderStore(journal: journal, channel: key.channel, name: key.name, order: order)
    }

    /// Stops a reader and removes its rows.
    func forget(_ key: Key) async throws {
        let task = state.withLock { state in
            state.remove(key)
            return state.tasks.removeValue(forKey: key)
        }
        task?.cancel()
        _ = await task?.result
        try await store(key).forget()
    }

    /// Releases what the readers call, at the end of the journal: it may capture the client.
    func end() {
        let readers = state.withLock { state in
            defer { state.readers = [:] }
            return state.readers
        }
        withExtendedLifetime(readers) {}  // Released outside of the lock.
    }

    /// The channel may have new messages.
    func signal(_ channel: ChannelName) {
        for line in lines(of: channel) { line.signal.raise() }
        changeNotifier.notify(channel)
    }

    func signal(_ key: Key) {
        state.withLock { $0.readers[key.channel]?[key.name]??.line }?.signal.raise()
    }

    func lines(of channel: ChannelName) -> [ReaderLine] {
        state.withLock { state in
            state.readers[channel]?.values.compactMap { $0?.line } ?? []
        }
    }

    /// The states of a channel's readers, by name.
    func states(of channel: ChannelName) -> [String: ReaderState] {
        let readers = state.withLock { $0.readers[channel] ?? [:] }
        return readers.mapValues { reader in
            reader?.line.state ?? .running
        }
    }

    /// Runs the present and future readers until the task is cancelled.
    func run() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Key.self)
        state.withLock { state in
            for (channel, readers) in state.readers {
                for (name, reader) in readers where reader != nil {
                    continuation.yield(Key(channel: channel, name: name))
                }
            }
            state.newcomers = continuation
        }
        defer {
            state.withLock { $0.newcomers = nil }
            continuation.finish()
        }
        try await withThrowingDiscardingTaskGroup { group in
            for await key in stream {
                group.addTask { try await self.run(key) }
            }
        }
    }

    private func run(_ key: Key) async throws {
        guard let reader = state.withLock({ $0.readers[key.channel]?[key.name] ?? nil }) else {
            return
        }
        let task = Task { try await reader.run() }
        state.withLock { $0.tasks[key] = task }
        defer {
            reader.line.stopWatching()
            state.withLock { state in _ = state.tasks.removeValue(forKey: key) }
        }
        do {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError {
            // Stopped, or forgotten.
        } catch let error as RepriseError where error.code == .noSuchEntry {
            // Forgotten while it worked.
        }
    }
}
