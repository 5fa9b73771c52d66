import RepriseCore
import RepriseJournal

/// Removes chains that have ended, with their files.
struct EndedChains: Sendable {
    let journal: Journal
    let files: OutputFiles
    let notifications: ChainNotifications

    func remove(_ id: String) async throws -> ChainRemoval.Result {
        let result = try await journal.write { try ChainRemoval.remove(id, $0) }
        if case .removed(let names) = result {
            files.remove(names)
            notifications.removed()
        }
        return result
    }

    /// Removes all that ended so long ago, a page at a time.
    ///
    /// - Returns: how many.
    func clear(olderThan age: Duration) async throws -> Int {
        var (count, last) = (0, Int64.min)
        while true {
            let page = try await journal.write { [journal, last] db in
                try ChainRemoval.page(
                    after: last, endedBefore: journal.now.advanced(by: .zero - max(age, .zero)),
                    db)
            }
            files.remove(page.files)
            (count, last) = (count + page.count, page.last)
            guard page.count == ChainRemoval.page else {
                notifications.removed()
                return count
            }
        }
    }
}
