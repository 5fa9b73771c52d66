import Foundation
import Reprise
import RepriseCore
import RepriseJournal

/// Reads a device's ledger from outside, as `reprise ledger` does, and compares it with the time
/// before.
struct LedgerWatch {
    private let journal: URL
    private(set) var newest: LedgerSum?
    private(set) var readings = 0

    init(_ journal: URL) { self.journal = journal }

    /// Reads it once more.
    ///
    /// - Parameter version: of the tables that its owner has, or was killed on the way to. With a
    ///   newer one each reading would rewrite a copy of the journal up to sixty times, and the
    ///   journal grow meanwhile.
    /// - Returns: what is wrong with it.
    mutating func look(version: Int) -> [String] {
        let sum: LedgerSum
        do {
            sum = try AccountClient.ledger(
                at: journal, schemas: [DeviceTables.schema(version: version)])
        } catch let error as RepriseError where error.code == .notAJournal && newest == nil {
            return []  // killed before there was one
        } catch {
            return ["its ledger cannot be read: \(error)"]
        }
        defer { newest = sum }
        readings += 1
        var faults: [String] = []
        if !sum.isBalanced { faults.append("its ledger does not add up: \(sum.text)") }
        if let newest, sum.isBehind(newest) {
            faults.append("its ledger went back from \(newest.text) to \(sum.text)")
        }
        return faults
    }
}

extension LedgerSum {
    /// What was accepted stays accepted, and what has ended stays ended.
    func isBehind(_ other: LedgerSum) -> Bool {
        accepted < other.accepted || duplicates < other.duplicates
            || other.outcomes.contains { outcomes[$0.key, default: 0] < $0.value }
    }

    var text: String {
        let ended = outcomes.filter { $0.value > 0 }.map { "\($0.key) \($0.value)" }.sorted()
        return (["accepted \(accepted)", "pending \(pending)"] + ended).joined(separator: ", ")
    }
}
