package import GRDB
package import RepriseCore
package import RepriseJournal

/// A transaction on the shipping journal; each door extends it in a file of its own.
package final class GRDBTransaction {
    package let db: Database
    package let journal: SteppedJournal

    package init(_ db: Database, _ journal: SteppedJournal) {
        self.db = db
        self.journal = journal
    }
}

extension GRDBTransaction: DeviceTransaction {}
