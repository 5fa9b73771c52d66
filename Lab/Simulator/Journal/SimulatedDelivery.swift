package import RepriseCore
package import RepriseJournal

extension EntryKind {
    /// For the mutation `ignoreClosedGate`.
    var ungated: EntryKind {
        var kind = self
        kind.requires = []
        return kind
    }
}

/// An entry that is with a handler of batches: `EntryDelivery` in virtual time.
package struct SimulatedDelivery {
    package let entry: Entry
    /// As in `EntryDelivery`.
    package let mayOvertake: () -> Bool
    /// Before the end is said: who is told once it is durable.
    package let whenWritten: (@escaping () -> Void) -> Void
    /// Says what became of it, and what is written with that; only the first word counts.
    package let end: (EntryDelivery.Ending, _ alongside: StoreJob?) -> Void
}
