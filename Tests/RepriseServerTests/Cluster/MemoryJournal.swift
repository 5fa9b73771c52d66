import RepriseCore
import RepriseServer
import RepriseTesting
import RepriseWire
import Synchronization

/// A ``FaultyJournal`` in real time, with the stamps of another clock.
final class MemoryJournal: ClusterJournal {
    private struct State {
        var journal: FaultyJournal
        var readers: [Int: @Sendable (StoredEntry?) -> Void] = [:]
        var next = 0
        var readFailures = 0
        var skipped: Set<SkippedEntry> = []
        var isConnected = true
        var maxBytes: Int64?
        var hasLeader = true
        var looks = 0
        var hearers: [NewsSubject: [AsyncStream<[UInt8]>.Continuation]] = [:]
    }

    let epoch = Epoch.random()
    /// The pieces of bases.
    let kept = Mutex<[BasePiece: [UInt8]]>([:])
    private let keepsBases: Bool
    private let state: Mutex<State>
    private let stamps: any Timekeeper
    private let system = SystemTimekeeper()
    private let pump = Mutex<Task<Void, Never>?>(nil)

    init(
        seed: UInt64, readers: Int, stamps: any Timekeeper, faults: FaultyJournal.Faults,
        keepsBases: Bool = false
    ) {
        self.keepsBases = keepsBases
        var journal = FaultyJournal(seed: seed, readers: readers)
        journal.faults = faults
        journal.clockOf = { _ in stamps.wall() }
        state = Mutex(State(journal: journal))
        self.stamps = stamps
        pump.withLock { pump in
            pump = Task { [weak self] in
                while !Task.isCancelled, let self {
                    self.advance()
                    try? await Task.sleep(for: .milliseconds(1))
                }
            }
        }
    }

    var entries: [StoredEntry] { state.withLock { $0.journal.entries } }

    func change(_ body: (inout FaultyJournal) -> Void) { state.withLock { body(&$0.journal) } }

    /// The most bytes that it says it holds; it does not refuse more.
    func limit(to bytes: Int64?) { state.withLock { $0.maxBytes = bytes } }

    /// Whether it says what it is like.
    func leads(_ hasLeader: Bool) { state.withLock { $0.hasLeader = hasLeader } }

    /// How often it was asked what it is like.
    var looks: Int { state.withLock { $0.looks } }

    /// The entries that its operator wants to be skipped.
    func skip(_ entries: Set<SkippedEntry>) { state.withLock { $0.skipped = entries } }

    var skipped: Set<SkippedEntry> { state.withLock { $0.skipped } }

    /// Whether it says that it is connected; what is sent and read is not lost.
    func connects(_ isConnected: Bool) { state.withLock { $0.isConnected = isConnected } }

    var connectionNumber: UInt64? { state.withLock { $0.isConnected ? 0 : nil } }

    /// So many readings fail from now on.
    func failReadings(_ count: Int) { state.withLock { $0.readFailures = count } }

    func close() {
        pump.withLock { $0?.cancel() }
        let readers = state.withLock { state in
            defer { state.readers = [:] }
            return state.readers.values
        }
        for reader in readers { reader(nil) }
    }

    private func advance() {
        state.withLock { state in
            for (reader, entry) in state.journal.advance(to: system.uptime()) {
                state.readers[reader]?(entry)
            }
        }
    }

    var store: (any BaseStore)? { keepsBases ? Store(journal: self) : nil }

    struct Store: BaseStore {
        let journal: MemoryJournal

        func put(_ bytes: [UInt8], as name: BasePiece) async throws {
            journal.kept.withLock { $0[name] = bytes }
        }
        func get(_ name: BasePiece) async throws -> [UInt8]? {
            journal.kept.withLock { $0[name] }
        }
        func marks(complete: Bool) async throws -> [Int64] {
            journal.kept.withLock { kept in
                kept.keys.compactMap { name in
                    switch name {
                    case .manifest(let mark): complete ? mark : nil
                    case .piece(let mark, 0): complete ? nil : mark
                    case .piece: nil
                    }
                }.sorted()
            }
        }
        func removePieces(at mark: Int64) async throws {
            journal.kept.withLock { kept in
                kept = kept.filter { name, _ in
                    switch name {
                    case .piece(mark, _), .manifest(mark): false
                    case .piece, .manifest: true
                    }
                }
            }
        }
        func removeEntries(through sequence: Int64) async throws {
            journal.change { $0.removeEntries(through: sequence) }
        }
    }

    func say(_ bytes: [UInt8], on subject: NewsSubject) {
        for hearer in state.withLock({ $0.hearers[subject] ?? [] }) { hearer.yield(bytes) }
    }

    func said(on subject: NewsSubject) -> AsyncStream<[UInt8]> {
        let (news, hearer) = AsyncStream.makeStream(of: [UInt8].self)
        state.withLock { $0.hearers[subject, default: []].append(hearer) }
        return news
    }

    // MARK: ClusterJournal

    func send(_ bytes: [UInt8]) async {
        state.withLock { $0.journal.send(bytes, at: system.uptime()) }
    }

    func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) {
        state.withLock { state in
            state.readers[state.next % state.journal.readers] = heard
            state.next += 1
        }
    }

    func status() async throws -> JournalStatus {
        try state.withLock { state in
            state.looks += 1
            guard state.hasLeader else {
                throw RepriseError(.unavailable, "Nobody leads, as the test wants.")
            }
            let entries = state.journal.entries
            let kept = entries.dropFirst(Int(state.journal.first - 1))
            return JournalStatus(
                bytes: kept.reduce(0) { $0 + Int64($1.bytes.count) }, maxBytes: state.maxBytes,
                first: state.journal.first, last: Int64(entries.count))
        }
    }

    func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
        try state.withLock { state in
            if state.readFailures > 0 {
                state.readFailures -= 1
                throw RepriseError(.unreachable, "No node answers, as the test wants.")
            }
            return (state.journal.read(after: sequence), Int64(state.journal.entries.count))
        }
    }
}

/// A journal that several servers leave, and the test closes.
struct SharedJournal: ClusterJournal {
    let journal: MemoryJournal

    var epoch: Epoch { journal.epoch }
    func send(_ bytes: [UInt8]) async { await journal.send(bytes) }
    func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) { journal.follow(heard) }
    func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
        try await journal.read(after: sequence)
    }
    func status() async throws -> JournalStatus { try await journal.status() }
    var bases: (any BaseStore)? { journal.store }
    var skipped: Set<SkippedEntry> { journal.skipped }
    var connectionNumber: UInt64? { journal.connectionNumber }
    func say(_ bytes: [UInt8], on subject: NewsSubject) { journal.say(bytes, on: subject) }
    func said(on subject: NewsSubject) -> AsyncStream<[UInt8]> { journal.said(on: subject) }
    func close() async {}
}

/// The calendar of one clock, the uptime of the system.
struct WallOf: Timekeeper {
    let clock: any Timekeeper
    private let system = SystemTimekeeper()

    init(_ clock: any Timekeeper) { self.clock = clock }

    var boot: String { system.boot }
    func wall() -> WallTime { clock.wall() }
    func uptime() -> Duration { system.uptime() }
    func sleep(until moment: Duration) async throws { try await system.sleep(until: moment) }
}
