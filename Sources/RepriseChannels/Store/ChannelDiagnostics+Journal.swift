package import Foundation
package import RepriseJournal
package import RepriseWire

extension ChannelDiagnostics {
    /// What a journal has of a channel, as of its last commit; another process may own it.
    ///
    /// The counters are those of the current epoch, and the state is `closed`: only the owner knows
    /// its own.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder.
    ///   - channel: the channel; one that the journal does not have is empty.
    ///   - schemas: all schemas of the features.
    /// - Throws: as `Journal.peek`.
    package init(
        ofJournalAt folder: URL, _ channel: ChannelName, schemas: [JournalSchema]
    ) throws {
        self.init(state: .closed)
        let found = try Journal.peek(at: folder, schemas: schemas) {
            try ChannelStore.stored(channel, $0)
        }
        guard let stored = found ?? nil else { return }
        epoch = stored.epoch
        coverage = stored.coverage
        head = max(stored.head, coverage.top)
        missing = coverage.complement(through: head).reduce(0) { $0 + $1.count }
        received = stored.position.accepted
    }
}
