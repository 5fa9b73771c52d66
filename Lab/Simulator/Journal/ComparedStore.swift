package import Foundation
package import RepriseCore
package import RepriseJournal

/// The model and the shipping journal side by side.
///
/// Every operation is done in both, and after every transaction all rows are compared. A difference
/// violates the invariant `agreement`.
package final class ComparedStore: DeviceStore {
    private let simulation: Simulation
    private let disk: SimulatedDisk
    private let model: ModelStore
    private let real: GRDBStore
    private let fate: FateBox

    package init(
        _ simulation: Simulation, at folder: URL, disk: SimulatedDisk,
        schemas: [JournalSchema] = [], settings: StoreSettings = StoreSettings()
    ) {
        let fate = FateBox()
        self.simulation = simulation
        self.disk = disk
        self.fate = fate
        model = ModelStore(
            simulation, settings: settings, fate: { fate.fate }, keepsUnsynced: { false })
        real = GRDBStore(
            simulation, at: folder, schemas: schemas, settings: settings, fate: { fate.fate })
    }

    package func open(by process: SimulatedProcess, kinds: [EntryKind]) throws -> any OpenStore {
        fate.fate = disk.commit()
        let expected = Result { try model.openModel(by: process, kinds: kinds) }
        let found = Result { try real.openJournal(by: process, kinds: kinds) }
        switch (expected, found) {
        case (.success(let left), .success(let right)):
            compare("opening")
            return OpenBoth(self, left, right)
        case (.failure(let left), .failure(let right))
        where (left as? RepriseError)?.code == (right as? RepriseError)?.code:
            throw right
        default:
            let difference = Difference(what: "opening", model: "\(expected)", real: "\(found)")
            violated(difference)
            throw difference
        }
    }

    package func crash(losingPower: Bool) {
        model.crash(losingPower: losingPower)
        real.crash(losingPower: losingPower)
    }

    package func dump() throws -> [String] { try real.dump() }

    func drawFate() { fate.fate = disk.commit() }

    func violated(_ difference: Difference) { simulation.violated(.agreement, "\(difference)") }

    func compare(_ what: String) {
        do {
            let (left, right) = (model.dump(), try real.dump())
            guard left != right else { return }
            let onlyLeft = left.filter { !right.contains($0) }
            let onlyRight = right.filter { !left.contains($0) }
            violated(
                Difference(
                    what: what, model: onlyLeft.joined(separator: "\n"),
                    real: onlyRight.joined(separator: "\n")))
        } catch {
            violated(Difference(what: what, model: "", real: "\(error)"))
        }
    }
}

private final class FateBox {
    var fate = SimulatedDisk.Fate.done
}

/// Both as one process has them open.
package final class OpenBoth: OpenStore {
    private let store: ComparedStore
    private let model: OpenModel
    private let real: OpenJournal

    init(_ store: ComparedStore, _ model: OpenModel, _ real: OpenJournal) {
        self.store = store
        self.model = model
        self.real = real
    }

    package var incarnation: Int64 { real.incarnation }

    package func commit(_ jobs: [StoreJob]) throws -> GroupResult {
        store.drawFate()
        let begun = Result { try model.begin() }
        var results: [Result<Void, any Error>] = []
        let found = Result {
            try real.commit(
                jobs.map { job in
                    { transaction in
                        guard let transaction = transaction as? GRDBTransaction,
                            let model = try? begun.get()
                        else { throw Difference(what: "begin", model: "\(begun)", real: "begun") }
                        let result = Result {
                            try model.inSavepoint {
                                try job(ComparedTransaction(model, transaction))
                            }
                        }
                        results.append(result)
                        try result.get()
                    }
                })
        }
        let expected = Result { try model.end(begun.get(), results) }
        store.compare("a commit")
        return try agreed(expected, found)
    }

    private func agreed(
        _ expected: Result<GroupResult, any Error>, _ found: Result<GroupResult, any Error>
    ) throws -> GroupResult {
        let difference: Difference
        switch (expected, found) {
        case (.success(let left), .success(let right)):
            if let known = right.differences.first {
                difference = known
            } else if left.news == right.news {
                return right
            } else {
                difference = Difference(
                    what: "news", model: "\(left.news)", real: "\(right.news)")
            }
        case (.failure(let left), .failure(let right))
        where (left as? RepriseError)?.code == (right as? RepriseError)?.code:
            throw right
        default:
            difference = Difference(what: "a commit", model: "\(expected)", real: "\(found)")
        }
        store.violated(difference)
        throw difference
    }

    package func read<T>(_ body: (any DeviceTransaction) throws -> T) throws -> T {
        try real.read(body)
    }
}

extension GroupResult {
    fileprivate var differences: [Difference] {
        results.compactMap { result in
            guard case .failure(let error) = result else { return nil }
            return error as? Difference
        }
    }
}
