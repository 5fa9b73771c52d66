package import RepriseCore
package import RepriseJournal

/// Does everything in both, and compares the answers; each feature extends it in a file of its own.
package final class ComparedTransaction {
    package let model: ModelTransaction
    package let real: GRDBTransaction

    package init(_ model: ModelTransaction, _ real: GRDBTransaction) {
        self.model = model
        self.real = real
    }

    /// Does the same in both.
    package func both<T>(
        _ what: String, text: (T) -> String = { "\($0)" },
        _ body: (any DeviceTransaction) throws -> T
    ) throws -> T {
        let expected = Result { try body(model) }
        let found = Result { try body(real) }
        switch (expected, found) {
        case (.success(let left), .success(let right)):
            guard text(left) == text(right) else {
                throw Difference(what: what, model: text(left), real: text(right))
            }
            return right
        case (.failure(let left), .failure(let right)):
            // A `RepriseError` is its code; sentences may differ.
            let (left, right) = (left as? RepriseError, right as? RepriseError)
            guard left?.code == right?.code else { fallthrough }
            return try found.get()
        default:
            throw Difference(what: what, model: "\(expected)", real: "\(found)")
        }
    }
}

/// The model and the shipping code disagree.
package struct Difference: Error, CustomStringConvertible {
    package var what: String
    package var model: String
    package var real: String

    package var description: String { "\(what): the model says \(model); the journal, \(real)" }
}

extension ComparedTransaction: AppTransaction {
    package func addEffect(_ text: String) throws {
        try both("addEffect") { try $0.addEffect(text) }
    }
    package func effects() throws -> [String] { try both("effects") { try $0.effects() } }
}

extension ComparedTransaction: EntryTransaction {
    package var now: WallTime { model.now }

    package func record(_ entry: NewEntry) throws -> Recorded {
        try both("record \(entry.id)") { try $0.record(entry) }
    }

    package func perform(_ work: SimulatedBatch) throws -> SimulatedBatch.Outcome {
        try both("a turn", text: { $0.canonical }) { try $0.perform(work) }
    }

    package func endInterrupted(kind: String) throws {
        try both("endInterrupted") { try $0.endInterrupted(kind: kind) }
    }

    package func putBackInterrupted() throws {
        try both("putBackInterrupted") { try $0.putBackInterrupted() }
    }

    package func serverTimeReceived(_ time: WallTime) throws {
        try both("serverTimeReceived") { try $0.serverTimeReceived(time) }
    }

    package func end(_ id: EntryID, as outcome: Outcome, reason: String?) throws -> Bool {
        try both("end \(id)") { try $0.end(id, as: outcome, reason: reason) }
    }

    package func endAll(of kinds: [String], as outcome: Outcome, reason: String) throws {
        try both("endAll") { try $0.endAll(of: kinds, as: outcome, reason: reason) }
    }

    package func retry(_ id: EntryID) throws { try both("retry \(id)") { try $0.retry(id) } }

    package func entry(_ id: EntryID) throws -> Entry? {
        try both("entry \(id)") { try $0.entry(id) }
    }

    package func ledger() throws -> LedgerSum {
        try both("ledger", text: { $0.canonical }) { try $0.ledger() }
    }
}

extension ComparedTransaction: DeviceTransaction {}

extension SimulatedBatch.Outcome {
    /// The same text for the same outcome, whatever the order in a dictionary.
    var canonical: String {
        "\(taken); \(result.taken.sorted { $0.key < $1.key }); \(result.more.sorted()); "
            + "\(String(describing: result.soonest)); \(result.isMoreDue)"
    }
}

extension LedgerSum {
    var canonical: String {
        "\(accepted) \(pending) \(duplicates) "
            + "\(outcomes.sorted { $0.key.rawValue < $1.key.rawValue }.filter { $0.value != 0 })"
    }
}
