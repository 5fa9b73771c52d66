import RepriseChains
import RepriseCore

/// Outputs of tasks; those that are too long for a row are in real files.
final class SimulatedOutputs {
    /// A worker's output, and where it is kept.
    struct Output {
        let bytes: [UInt8]
        let stored: StoredOutput
    }

    private let simulation: Simulation
    private let app: SimulatedChainsApp
    private let journal: SimulatedJournal
    /// What their lengths are drawn from.
    private var lengths: SeededRandom

    private var files: OutputFiles { app.device.files }
    private var process: SimulatedProcess { app.process }

    init(_ simulation: Simulation, _ app: SimulatedChainsApp, _ journal: SimulatedJournal) {
        (self.simulation, self.app, self.journal) = (simulation, app, journal)
        lengths = simulation.random("outputs of \(app.process.name) \(app.process.life)")
    }

    /// What a task gives, as JSON: its name, behind so much else that it may need a file.
    func output(of task: String, isCompensation: Bool) -> [UInt8] {
        let often = isCompensation ? 0 : app.device.longOutputs
        let isLong = often > 0 && lengths.chance(often)
        let count = isLong ? ChainsLimits.inlineBytes - 100 + lengths.index(4_000) : 0
        return Array("\"".utf8) + Array(repeating: UInt8(ascii: "x"), count: count)
            + Array("\(task)\"".utf8)
    }

    /// As a worker's process does it, before it says that the task is done.
    func keep(_ bytes: [UInt8]) throws -> Output {
        let stored = try files.store(bytes)
        if simulation.mutation == .chainFileAfterRow, let name = stored.file {
            files.remove([name])
            simulation.after(.milliseconds(100), on: process) { [files] in
                try? files.keep(bytes, as: stored)
            }
        }
        return Output(bytes: bytes, stored: stored)
    }

    /// As at each start.
    ///
    /// - Returns: false if the rows could not be read, or the process has ended.
    func sweep() -> Bool {
        let names = files.names
        let named = try? journal.read { try OutputFiles.named(shipping($0).db) }
        guard let named, process.survives("sweeping files") else { return false }
        switch simulation.mutation {
        case .chainFilesStay: break
        case .chainSweepTakesNewest:
            let newest = named.max().map { Set([$0]) } ?? []
            files.sweep(names, but: named.subtracting(newest))
        default: files.sweep(names, but: named)
        }
        app.device.checker.swept(files.names, named)
        return true
    }

    func read(_ stored: StoredOutput) throws -> [UInt8] { try files.read(stored) }

    func remove(_ names: [String]) { files.remove(names) }
}
