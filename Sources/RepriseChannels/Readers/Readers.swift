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

    /// Where the effect of a reader takes place.
    enum Effect: Sendable {
        case outside(
            isApplied: (@Sendable (EntryID) async throws -> Bool)?,
            handler: @Sendable (Message) async throws -> Void)
        case inside(@Sendable (Database, [Message]) throws -> Void)
    }

    private struct State {
        /// nil while it is being made.
        var readers: [Key: (any Reader)?] = [:]
        var tasks: [Key: Task<Void, any Error>] = [:]
        /// Takes new readers to `run`, while that runs.
        var newcomers: AsyncStream<Key>.Continuation?
    }

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
            guard state.readers[key] == nil else { return false }
            state.readers.updateValue(nil, forKey: key)
            return true
        }
        guard isFree else {
            throw RepriseError(
                .full, "The reader \(key.name) of \(key.channel) is running already.",
                remedy: "Give each reader a name of its own.")
        }
        do {
            let reader = try await make(key, options: options, effect: effect)
            state.withLock { state in
                state.readers.updateValue(reader, forKey: key)
                _ = state.newcomers?.yield(key)
            }
        } catch {
            state.withLock { state in _ = state.readers.removeValue(forKey: key) }
            throw error
        }
    }

    private func make(_ key: Key, options: ReaderOptions, effect: Effect) async throws
        -> any Reader
    {
        let store = store(key)
        let position = try await store.begin(options, now: configuration.timekeeper.wall())
        let line = ReaderLine(
            store: store, position: position, options: options, configuration: configuration)
        switch effect {
        case .outside(let isApplied, let handler):
            return OutsideReader(line: line, isApplied: isApplied, handler: handler)
        case .inside(let effect):
            return InsideReader(line: line, effect: effect)
        }
    }

    func store(_ key: Key) -> ReaderStore {
        ReaderStore(journal: journal, channel: key.channel, name: key.name)
    }

    /// Stops a reader and removes what the journal has of it.
    func forget(_ key: Key) async throws {
        let task = state.withLock { state in
            state.readers.removeValue(forKey: key)
            return state.tasks.removeValue(forKey: key)
        }
        task?.cancel()
        _ = await task?.result
        try await store(key).forget()
    }

    /// The channel may have something new.
    func signal(_ channel: ChannelName) {
        for line in lines(of: channel) { line.signal.raise() }
    }

    func signal(_ key: Key) { state.withLock { $0.readers[key]??.line }?.signal.raise() }

    func lines(of channel: ChannelName) -> [ReaderLine] {
        state.withLock { state in
            state.readers.compactMap { $0.key.channel == channel ? $0.value?.line : nil }
        }
    }

    /// Runs the readers, those there are and those that come, until the task is cancelled.
    func run() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Key.self)
        state.withLock { state in
            for (key, reader) in state.readers where reader != nil { continuation.yield(key) }
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
        guard let reader = state.withLock({ $0.readers[key] ?? nil }) else { return }
        let task = Task { try await reader.run() }
        state.withLock { $0.tasks[key] = task }
        defer { state.withLock { state in _ = state.tasks.removeValue(forKey: key) } }
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
