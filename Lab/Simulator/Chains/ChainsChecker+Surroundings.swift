import GRDB
import RepriseChains
import RepriseCore

/// What holds where a system grants time, and outputs are in files.
extension ChainsChecker {
    /// A chain that goes on, with a task that could begin or be taken back if there were time.
    private static func couldUseTime(
        _ picture: Picture, but delayed: [String: WallTime] = [:]
    ) -> Bool {
        switch picture.state {
        case .running, .failing, .cancelling:
            picture.tasks.contains {
                ($0.state == .intended || $0.compensation == .intended)
                    && delayed["\(picture.id)/\($0.name)"] == nil
            }
        case .queued, .paused, .suspended, .succeeded, .failed, .cancelled, .quarantined: false
        }
    }

    /// The app leaves the processor to others: who could use time has asked for it; `delayed`: when
    /// tasks are tried again.
    func checkRequest(_ request: BackgroundRequest?, delayed: [String: WallTime]) {
        let waiting = pictures.values.filter { Self.couldUseTime($0) }.map(\.id).min()
        guard let waiting else { return }
        guard let request else {
            return violated(.alive, "\(waiting) could use time, and no slot is requested")
        }
        guard let earliest = request.earliest else { return }
        let ready = pictures.values.filter { Self.couldUseTime($0, but: delayed) }.map(\.id).min()
        if let ready {
            violated(.alive, "\(ready) could use time, and asks for it at \(earliest)")
        } else if let first = delayed.values.min(), earliest > first {
            violated(.alive, "\(waiting) could use time at \(first), and not at \(earliest)")
        }
    }

    /// Tasks that are tried again later, by the chain's id and their name.
    static func delayed(_ db: Database) throws -> [String: WallTime] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT c.id || '/' || t.name, e.due FROM entry AS e
                JOIN chainTask AS t ON t.entry = e.id JOIN chain AS c ON c.seq = t.chain
                WHERE e.state = 2 AND (t.state = 1 OR t.undo = 1)
                """)
        var delayed: [String: WallTime] = [:]
        for row in rows {
            let (task, due): (String, Int64) = (row[0], row[1])
            delayed[task] = WallTime(milliseconds: due)
        }
        return delayed
    }

    /// Slots were granted for a long while, and the app was not opened.
    func checkTimeUsed() {
        let clocks: Set<Fault.Kind> = [.clockJump, .clockDrift]
        guard !simulation.schedule.faults.contains(where: { clocks.contains($0.kind) }) else {
            return
        }
        for picture in pictures.values.sorted(by: { $0.id < $1.id })
        where Self.couldUseTime(picture) {
            let still = simulation.now - (changes[picture.id] ?? .zero)
            guard still > .seconds(1_500) else { continue }
            violated(.alive, "\(picture.id) could use time, and has not changed for \(still)")
        }
    }

    // MARK: Files

    /// Each output that a row names can be read in full; `all`: also those that could before.
    func checkFiles(of chains: [Int64], all: Bool, _ db: Database) throws {
        guard let files else { return }
        for seq in chains {
            // Of a damaged one rows may be gone, so that a place is another's.
            guard let picture = pictures[seq], !damaged.contains(picture.id) else { continue }
            let outputs = try ChainReading.outputs(seq, 0..<Int.max, db)
            for (place, output) in outputs.sorted(by: { $0.key < $1.key }) {
                guard let file = output.file, known.insert(file).inserted || all,
                    picture.tasks.indices.contains(place)
                else { continue }
                let task = picture.tasks[place].name
                do {
                    let bytes = try files.read(output)
                    let end = Array("x\(task)\"".utf8)
                    guard bytes.count != output.count || bytes.suffix(end.count) != end[...] else {
                        continue
                    }
                    violated(.recorded, "\(picture.id): the file has another output of \(task)")
                } catch {
                    violated(.recorded, "\(picture.id): the output of \(task) is gone: \(error)")
                }
            }
        }
    }

    /// After a sweep the files are those that rows name.
    func swept(_ names: [String], _ named: Set<String>) {
        let left = Set(names).subtracting(named).count
        if left > 0 { violated(.bounded, "\(left) files are left that no row names") }
        let lost = named.subtracting(names).count
        if lost > 0 { violated(.recorded, "\(lost) files are gone that rows name") }
    }

    // MARK: Damage

    func cannotRead(_ seq: Int64, _ why: String) {
        let id = pictures[seq]?.id ?? "\(seq)"
        if !damaged.contains(id) { violated(.recorded, "\(id) cannot be read: \(why)") }
    }

    /// At the end: a chain that cannot be read is quarantined, or somebody has removed it since.
    func checkDamaged(_ db: Database) throws {
        for id in damaged.sorted() {
            let state = try Int.fetchOne(
                db, sql: "SELECT state FROM chain WHERE id = ?", arguments: [id])
            guard let state, state != ChainState.quarantined.rawValue else { continue }
            violated(.alive, "\(id) cannot be read, and is in the state \(state)")
        }
    }
}
