package import GRDB
package import RepriseCore
package import RepriseJournal

/// The journal operations that the tables of chains use within its transaction: of the shipping
/// journal, and of the simulation's.
package protocol ChainEntries {
    /// The calendar, as the journal's transaction sees it.
    var now: WallTime { get }
    @discardableResult
    func record(_ entry: NewEntry, in db: Database) throws -> Recorded
    @discardableResult
    func record(owed entry: NewEntry, in db: Database) throws -> Recorded
    func end(_ id: EntryID, as outcome: Outcome, reason: String?, in db: Database) throws -> Bool
}

extension Journal: ChainEntries {}
extension SteppedJournal: ChainEntries {}
