import RepriseServer
import RepriseWire
import Synchronization

/// A journal of which its gateway hears and reads nothing while it is held; what that sends
/// arrives.
final class LateJournal: ClusterJournal {
    private let journal: SharedJournal
    private let isHeld = Atomic(false)

    init(_ journal: SharedJournal) { self.journal = journal }

    func hold(_ isHeld: Bool) { self.isHeld.store(isHeld, ordering: .sequentiallyConsistent) }

    func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) {
        journal.follow { entry in
            // What is not heard is read once it is held no more.
            if entry == nil || !self.isHeld.load(ordering: .sequentiallyConsistent) {
                heard(entry)
            }
        }
    }

    func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
        while isHeld.load(ordering: .sequentiallyConsistent) {
            try await Task.sleep(for: .milliseconds(1))
        }
        return try await journal.read(after: sequence)
    }

    var epoch: Epoch { journal.epoch }
    var connectionNumber: UInt64? { journal.connectionNumber }
    func send(_ bytes: [UInt8]) async { await journal.send(bytes) }
    func status() async throws -> JournalStatus { try await journal.status() }
    func say(_ bytes: [UInt8], on subject: NewsSubject) { journal.say(bytes, on: subject) }
    func said(on subject: NewsSubject) -> AsyncStream<[UInt8]> { journal.said(on: subject) }
    func close() async { await journal.close() }
}
