import RepriseServer

/// Compares bases with what the journal comes to at their marks, and sees that whatever is purged
/// is in one that counts.
final class BasesChecker {
    private let simulation: Simulation
    private let truth: JournalTruth
    /// What the journal comes to at each mark.
    private var marks: [Int64: (position: JournalPosition, content: [UInt8])] = [:]

    init(_ simulation: Simulation, _ truth: JournalTruth) {
        self.simulation = simulation
        self.truth = truth
        truth.marked = { [self] in marked($0) }
    }

    private func marked(_ mark: Int64) {
        do {
            let content = try truth.view.contentHash()
            marks[mark] = (truth.position, content)
        } catch {
            simulation.violated(.agreement, "the view cannot be read: \(error)")
        }
    }

    /// A manifest is kept.
    func counts(_ mark: Int64, of bases: SimulatedBases) {
        // An older one that comes late is nobody's.
        guard let newest = bases.newest, newest.position.sequence == mark else { return }
        simulation.trace("bases", "the base at \(mark) counts")
        if newest.position != marks[mark]?.position || newest.content != marks[mark]?.content {
            simulation.violated(
                .agreement, "the base at entry \(mark) is not what the journal comes to")
        }
        expectWhole(newest, bases)
    }

    /// Entries are about to be purged.
    func purges(through sequence: Int64, with bases: SimulatedBases) {
        expectBase(through: sequence, bases, "entries up to \(sequence) are purged")
    }

    /// The pieces at a mark are removed.
    func removed(_ mark: Int64, of bases: SimulatedBases, first: Int64) {
        guard first > 1 else { return }
        expectBase(through: first - 1, bases, "the base at entry \(mark) is removed")
    }

    /// A gateway has made its view anew.
    func installed(_ gateway: SimulatedGateway, at mark: Int64) {
        do {
            let view = gateway.view
            guard view.position == marks[mark]?.position,
                try view.contentHash() == marks[mark]?.content
            else {
                return simulation.violated(
                    .agreement,
                    "gateway \(gateway.number) has made its view anew from the base at \(mark), "
                        + "and it is not what the journal comes to")
            }
        } catch {
            simulation.violated(.agreement, "the view cannot be read: \(error)")
        }
    }

    private func expectBase(through sequence: Int64, _ bases: SimulatedBases, _ what: String) {
        guard let newest = bases.newest, newest.position.sequence >= sequence else {
            return simulation.violated(
                .recorded, "\(what), and no base has what came of entries up to \(sequence)")
        }
        expectWhole(newest, bases)
    }

    private func expectWhole(_ base: BaseManifest, _ bases: SimulatedBases) {
        let mark = base.position.sequence
        let missing = base.pieces.indices.first { !bases.has(.piece(mark: mark, number: $0)) }
        guard let missing else { return }
        simulation.violated(
            .recorded, "the base at entry \(mark) counts, and its piece \(missing) is not there")
    }
}
