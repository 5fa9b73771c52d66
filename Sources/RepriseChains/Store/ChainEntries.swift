package import GRDB
package import RepriseCore
package import RepriseJournal

/// What the tables of chains need of the journal that they lie in, inside of its transaction: the
/// shipping one, and the one that the simulation drives.
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
