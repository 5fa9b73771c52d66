import RepriseCluster
import RepriseServer
import RepriseWire
import Synchronization

/// A journal that may lose what its gateway says beside it, as if that was killed.
final class MutedJournal: ClusterJournal {
    private let journal: NatsJournal
    private let isMuted = Atomic(false)

    init(_ journal: NatsJournal) { self.journal = journal }

    func mute(_ isMuted: Bool) { self.isMuted.store(isMuted, ordering: .relaxed) }

    func say(_ bytes: [UInt8], on subject: NewsSubject) {
        if !isMuted.load(ordering: .relaxed) { journal.say(bytes, on: subject) }
    }

    var epoch: Epoch { journal.epoch }
    var connectionNumber: UInt64? { journal.connectionNumber }
    func said(on subject: NewsSubject) -> AsyncStream<[UInt8]> { journal.said(on: subject) }
    func send(_ bytes: [UInt8]) async { await journal.send(bytes) }
    func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) { journal.follow(heard) }
    func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
        try await journal.read(after: sequence)
    }
    func status() async throws -> JournalStatus { try await journal.status() }
    func close() async { await journal.close() }
}
