import Foundation
import GRDB
import RepriseChains
import RepriseCore

/// Sees what users and services see of a device's chains: what was acknowledged, which effects came
/// with which keys, and what is durable.
///
/// Its picture of the rows is read after every commit; what a row becomes is compared with what it
/// was, and with the effects.
final class ChainsChecker {
    struct Task: Equatable {
        var name: String
        var step: Int
        var worker: String?
        var state: TaskState
        var compensation: CompensationState
        var hold: String?
        var failures: Int
    }

    struct Picture: Equatable {
        var id: String
        var version: Int
        var name: String?
        var state: ChainState
        var reason: String?
        var tasks: [Task]

        func task(_ name: String) -> Task? { tasks.first { $0.name == name } }

        /// Whether every step before this one is done.
        ///
        /// One commit may do it and begin to take it back: `before` says what was.
        func isReached(_ step: Int, before: Picture?) -> Bool {
            tasks.allSatisfy { task in
                task.step >= step
                    || task.state == .succeeded
                        && [task.compensation, before?.task(task.name)?.compensation ?? .none]
                            .contains(.none)
            }
        }
    }

    /// A task, or the taking back of it.
    struct Work: Hashable {
        var chain: String
        var task: String
        var isCompensation: Bool
    }

    /// Rows of chains that the commit in flight writes.
    var touched: Set<Int64> = []
    private(set) var pictures: [Int64: Picture] = [:]
    /// When a chain was another one last.
    private(set) var changes: [String: Duration] = [:]
    private var seqs: [String: Int64] = [:]
    private var scripts: [String: ChainsScript] = [:]
    private var acks: Set<String> = []
    /// Acknowledged under their own id.
    private var begun: [String] = []
    private var retried: Set<String> = []
    private var paused: Set<String> = []
    /// Somebody asked to remove it, if it has ended; or all that have.
    private var removed: Set<String> = []
    private var isCleared = false
    /// Removed while it had ended, perhaps in the commit that ended it.
    private var left: Set<String> = []
    private var gone: Set<String> = []
    private var keys: [Work: String] = [:]
    /// Of effects that were taken back before their tasks were begun anew.
    private var formerKeys: Set<String> = []
    private var effects: [Work: Int] = [:]
    private var failures: [Work: Int] = [:]
    private var commits = 0
    private static let ledgerCommits = 32
    /// Where long outputs are; nil: there are none.
    var files: OutputFiles?
    /// Chains whose rows went bad on the disk.
    private(set) var damaged: Set<String> = []
    /// The person has set the clock, and what is kept for a while may leave.
    var isClockSet = false
    /// Files that were read in full when their row was committed.
    var known: Set<String> = []
    let simulation: Simulation
    let name: String

    init(_ simulation: Simulation, name: String) {
        self.simulation = simulation
        self.name = name
    }

    func violated(_ invariant: Invariant, _ what: @autoclosure () -> String) {
        simulation.violated(invariant, "\(name): \(what())")
    }

    // MARK: The user

    func asked(_ id: String, _ script: ChainsScript) { scripts[id] = script }
    func acknowledged(_ id: String) { acks.insert(id) }
    func isAcknowledged(_ id: String) -> Bool { acks.contains(id) }
    func started(_ id: String) { begun.append(id) }
    func target(_ pick: Int) -> String? { begun.isEmpty ? nil : begun[pick % begun.count] }

    func commanded(_ verb: ChainCommand.Verb, _ id: String) {
        if verb == .retry { retried.insert(id) }
        if verb == .pause { paused.insert(id) }
        if verb == .delete { removed.insert(id) }
        if verb == .clear { isCleared = true }
    }

    /// Somebody's command removes it, in this state.
    func leaves(_ id: String, in state: ChainState) {
        left.insert(id)
        if !state.isEnd { violated(.recorded, "\(id) is removed while it is \(state)") }
    }

    // MARK: Workers

    func began(_ count: Int) {
        guard count > ChainsKinds.concurrency else { return }
        violated(.bounded, "\(count) workers run, \(ChainsKinds.concurrency) at most")
    }

    /// An attempt has failed, of so many at most.
    func failed(_ chain: String, _ task: String, _ isCompensation: Bool, most: Int) {
        let work = Work(chain: chain, task: task, isCompensation: isCompensation)
        failures[work, default: 0] += 1
        if let count = failures[work], count > most {
            violated(.bounded, "\(task) of \(chain) has failed \(count) times, \(most) at most")
        }
    }

    /// An effect takes place that the outside sees.
    func tookEffect(
        _ chain: String, _ task: String, isCompensation: Bool, key: String,
        by app: SimulatedChainsApp, wasTold: Bool
    ) {
        let work = Work(chain: chain, task: task, isCompensation: isCompensation)
        if formerKeys.contains(key) {
            guard !app.isFormer, !wasTold else { return }
            violated(.once, "\(task) of \(chain) is done anew with the former key \(key)")
        }
        if let first = keys[work], first != key {
            violated(.once, "\(task) of \(chain) comes with the key \(key), and came with \(first)")
        }
        keys[work] = key
        effects[work, default: 0] += 1
        // Who has lost the journal and sleeps cannot know; who was told to stop may be given up.
        guard !app.isFormer, !wasTold else { return }
        guard let seq = seqs[chain], let picture = pictures[seq], let row = picture.task(task)
        else {
            return violated(.recorded, "\(task) of \(chain) takes effect and is in no row")
        }
        if !ChainsScript.canGoOn(picture.version, with: app.version) {
            violated(
                .released,
                "\(chain) of version \(picture.version) goes on with version \(app.version)")
        }
        if isCompensation {
            guard row.compensation != .intended else { return }
            return violated(.once, "\(key) takes effect, and its row says \(row.compensation)")
        }
        if row.state.isEnd {
            violated(.once, "\(key) takes effect after its outcome, \(row.state)")
        } else if !picture.isReached(row.step, before: picture) {
            violated(.order, "\(key) takes effect before the outcomes of the steps before it")
        } else if row.state != .intended {
            violated(.recorded, "\(key) takes effect without an intent")
        }
    }

    // MARK: Rows

    /// Right after each commit; `read` reads what is committed.
    func committed(_ read: ((any DeviceTransaction) throws -> Void) throws -> Void) throws {
        commits += 1
        let looksAtLedger = commits % Self.ledgerCommits == 0
        guard !touched.isEmpty || looksAtLedger else { return }
        let changed = touched.sorted()
        touched = []
        try read { transaction in
            let db = try shipping(transaction).db
            try compare(changed, db)
            try checkFiles(of: changed, all: false, db)
            if looksAtLedger { try checkLedger(transaction) }
        }
    }

    /// It counts all rows, and one that is not balanced stays so: it is looked at now and then.
    private func checkLedger(_ transaction: any DeviceTransaction) throws {
        let ledger = try transaction.ledger()
        if !ledger.isBalanced { violated(.accounted, "the ledger is not balanced: \(ledger)") }
    }

    /// At every opening, and at the end.
    func look(_ transaction: any DeviceTransaction, version: Int, isEnd: Bool) throws {
        try checkLedger(transaction)
        let db = try shipping(transaction).db
        let found = try Int64.fetchAll(
            db.cachedStatement(sql: "SELECT seq FROM chain ORDER BY seq"))
        try compare(Set(found).union(pictures.keys).sorted(), db)
        try checkFiles(of: found, all: true, db)
        failures = [:]
        for picture in pictures.values {
            for task in picture.tasks {
                let isCompensation = task.compensation != .none
                failures[Work(chain: picture.id, task: task.name, isCompensation: isCompensation)] =
                    task.failures
            }
        }
        guard isEnd else { return }
        for id in begun where seqs[id] == nil {
            violated(.recorded, "\(id) was acknowledged and is nowhere")
        }
        for seq in pictures.keys.sorted() { checkEnd(seq, version) }
        try checkDamaged(db)
    }

    static func read(_ seq: Int64, _ db: Database) throws -> Picture? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT id, version, name, state, reason FROM chain WHERE seq = ?"),
            arguments: [seq])
        guard let row else { return nil }
        let tasks = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT name, step, worker, state, undo, hold, failures FROM chainTask
                    WHERE chain = ? ORDER BY place
                    """), arguments: [seq])
        return Picture(
            id: row[0], version: row[1], name: row[2],
            state: ChainState(rawValue: row[3]) ?? .quarantined, reason: row[4],
            tasks: tasks.map {
                Task(
                    name: $0[0], step: $0[1], worker: $0[2],
                    state: TaskState(rawValue: $0[3]) ?? .failed,
                    compensation: CompensationState(rawValue: $0[4]) ?? .failed, hold: $0[5],
                    failures: $0[6])
            })
    }

    /// A commit changes several: all are known before each is judged.
    private func compare(_ changed: [Int64], _ db: Database) throws {
        let found = try changed.map { (seq: $0, old: pictures[$0], new: try Self.read($0, db)) }
        for case (let seq, _, let new?) in found {
            pictures[seq] = new
            seqs[new.id] = seq
        }
        for one in found { compare(one.old, one.new) }
        for one in found where one.new == nil { pictures[one.seq] = nil }
    }

    /// Its rows are others now, and nobody has written them.
    func damage(_ seq: Int64, _ id: String, _ db: Database) throws {
        damaged.insert(id)
        pictures[seq] = try Self.read(seq, db)
    }

    private func compare(_ former: Picture?, _ new: Picture?) {
        if let former, damaged.contains(former.id), new == nil || new?.id == former.id {
            if new == nil { gone.insert(former.id) }
            return
        }
        var old = former
        if let former = old, former.id != new?.id {
            // After its retention it leaves, or when somebody removes it.
            let mayBeGone = mayHaveLeft || isCleared || removed.contains(former.id)
            let hadEnded = former.state.isEnd || left.contains(former.id)
            if !hadEnded || former.state == .failed && !mayBeGone {
                violated(.recorded, "\(former.id) was \(former.state) and is gone")
            }
            gone.insert(former.id)
            old = nil
        }
        guard let new, old != new else { return }
        changes[new.id] = simulation.now
        simulation.trace(name, "\(new.id) is \(new.state): \(Self.text(new))")
        checkChain(old, new)
        for task in new.tasks { check(task, old?.task(task.name), old, new) }
    }

    private static func text(_ picture: Picture) -> String {
        picture.tasks.map { task in
            let compensation =
                task.compensation == .none ? "" : ", taken back: \(task.compensation)"
            return
                "\(task.name) \(task.state)\(task.hold.map { " for \($0)" } ?? "")\(compensation)"
        }.joined(separator: "; ")
    }

    private var mayHaveLeft: Bool {
        isClockSet || simulation.now > .seconds(7 * 86_400)
            || simulation.schedule.faults.contains {
                $0.kind == .clockJump || $0.kind == .clockDrift
            }
    }

    private func checkChain(_ old: Picture?, _ new: Picture) {
        if let old, old.state.isEnd, new.state != old.state, !retried.contains(new.id) {
            violated(.once, "\(new.id) had ended as \(old.state) and is \(new.state)")
        }
        if let old, !ChainsScript.canGoOn(old.version, with: new.version) {
            violated(
                .released,
                "\(new.id) of version \(old.version) goes on as version \(new.version)")
        }
        if new.state == .suspended, (new.reason ?? "").isEmpty {
            violated(.accounted, "\(new.id) is suspended, and nobody says why")
        }
        if new.state == .succeeded, new.tasks.contains(where: { $0.state != .succeeded }) {
            violated(.acknowledged, "\(new.id) has succeeded with tasks that have not")
        }
        if new.state.isEnd,
            new.tasks.contains(where: { $0.state == .intended || $0.compensation == .intended })
        {
            violated(.acknowledged, "\(new.id) has ended with tasks that have not")
        }
        checkLeft(old, new)
        checkDecisions(old, new)
        guard let name = new.name, Self.goesOn(new), old.map(Self.goesOn) != true else { return }
        let others = pictures.values.filter {
            $0.name == name && $0.id != new.id && Self.goesOn($0)
        }
        if let other = others.map(\.id).min() {
            violated(.bounded, "\(new.id) and \(other) go on under one name, \(name)")
        }
    }

    /// What has not succeeded ends when its effects are taken back, unless somebody has cancelled
    /// it twice.
    private func checkLeft(_ old: Picture?, _ new: Picture) {
        guard new.state == .failed || new.state == .cancelled, old?.state != new.state,
            new.reason?.hasPrefix(LiveChain.leftReason) != true, let script = scripts[new.id],
            let left = new.tasks.first(where: {
                $0.state == .succeeded && $0.compensation == .none
                    && script.part($0.name)?.canCompensate == true
            })
        else { return }
        violated(.acknowledged, "\(new.id) is \(new.state), and \(left.name) is not taken back")
    }

    /// With a decision its tasks are there, and those of no other.
    private func checkDecisions(_ old: Picture?, _ new: Picture) {
        for task in new.tasks
        where task.worker == nil && task.state == .succeeded
            && old?.task(task.name)?.state != .succeeded
        {
            guard let (tasks, others) = scripts[new.id]?.decision(task.name) else { continue }
            if let missing = tasks.first(where: { new.task($0) == nil }) {
                violated(.recorded, "\(new.id): \(task.name) is decided, without \(missing)")
            }
            if let other = others.first(where: { new.task($0) != nil }) {
                violated(.released, "\(new.id): \(task.name) was to be decided without \(other)")
            }
        }
    }

    private static func goesOn(_ picture: Picture) -> Bool {
        !picture.state.isEnd && picture.state != .queued && picture.state != .suspended
    }

    private func check(_ task: Task, _ before: Task?, _ old: Picture?, _ new: Picture) {
        // A retry and what follows it may be one commit.
        let isAnew =
            old.map { $0.state == .failed || $0.state == .cancelled } ?? false
            && retried.contains(new.id)
        let was = before?.state ?? .blocked
        let wasCompensation = before?.compensation ?? .none
        if isAnew {
            for isCompensation in [false, true] {
                failures[Work(chain: new.id, task: task.name, isCompensation: isCompensation)] = 0
            }
        }
        if isAnew, wasCompensation == .compensated, task.compensation != .compensated {
            for isCompensation in [false, true] {
                let key = keys.removeValue(
                    forKey: Work(chain: new.id, task: task.name, isCompensation: isCompensation))
                key.map { _ = formerKeys.insert($0) }
            }
        }
        if was.isEnd, was != task.state, !isAnew || was == .succeeded && wasCompensation == .none {
            violated(.once, "\(task.name) of \(new.id) was \(was) and is \(task.state)")
        }
        if wasCompensation.rawValue >= 10, wasCompensation != task.compensation, !isAnew {
            violated(
                .once,
                "\(task.name) of \(new.id): undo was \(wasCompensation) and is \(task.compensation)"
            )
        }
        let isBegun = task.state == .intended || task.state == .held || task.state == .succeeded
        if isBegun, was == .blocked, !new.isReached(task.step, before: old), !new.state.isEnd {
            violated(
                .order, "\(task.name) of \(new.id) is \(task.state) before the steps before it")
        }
        if task.state == .succeeded, was != .succeeded, task.worker != nil,
            effects[Work(chain: new.id, task: task.name, isCompensation: false)] == nil
        {
            violated(.acknowledged, "\(task.name) of \(new.id) is done without an effect")
        }
        checkCompensation(task, wasCompensation, new)
    }

    private func checkCompensation(_ task: Task, _ was: CompensationState, _ new: Picture) {
        if task.compensation == .compensated, was != .compensated,
            effects[Work(chain: new.id, task: task.name, isCompensation: true)] == nil
        {
            violated(.acknowledged, "\(task.name) of \(new.id) is taken back without an effect")
        }
        guard task.compensation == .intended, was == .none else { return }
        failures[Work(chain: new.id, task: task.name, isCompensation: true)] = 0
        let script = scripts[new.id]
        for other in new.tasks where other.step > task.step && other.state == .succeeded {
            guard script?.part(other.name)?.canCompensate == true, other.compensation == .none
            else { continue }
            violated(.order, "\(new.id): \(task.name) is taken back before \(other.name)")
        }
        if new.tasks.count(where: { $0.compensation == .intended }) > 1 {
            violated(.order, "\(new.id): several effects are taken back at a time")
        }
    }

    // MARK: The end

    /// Whether a chain waits for an entry that somebody else records.
    var someWaitForReply: Bool {
        pictures.values.contains { picture in
            picture.tasks.contains { $0.hold?.hasPrefix("entry:") ?? false }
        }
    }

    // MARK: Notifications

    /// A result was shown.
    func shown(_ id: String, _ state: ChainState) {
        guard !gone.contains(id) else { return }
        guard let seq = seqs[id], let picture = pictures[seq] else {
            return violated(.recorded, "a result of \(id) is shown, which is in no row")
        }
        guard picture.state != state, !retried.contains(id) else { return }
        violated(.recorded, "\(id) is shown as \(state), and is \(picture.state)")
    }

    /// Each chain that has ended is shown so, and none that is gone.
    func checkNotifications(_ centre: ChainsCentre) {
        for picture in pictures.values.sorted(by: { $0.id < $1.id }) where picture.state.isEnd {
            let shown = centre.delivered[picture.id]?.text ?? "nothing"
            guard shown != "\(picture.state)" else { continue }
            violated(.alive, "\(picture.id) is \(picture.state), and shown as \(shown)")
        }
        for id in gone.sorted() where removed.contains(id) && !mayHaveLeft {
            guard let shown = centre.delivered[id]?.text else { continue }
            violated(.accounted, "\(id) is gone, and shown as \(shown)")
        }
    }

    private func checkEnd(_ seq: Int64, _ version: Int) {
        guard let picture = pictures[seq], !damaged.contains(picture.id) else { return }
        switch picture.state {
        case .succeeded, .failed, .cancelled: return
        case .paused where paused.contains(picture.id): return
        case .suspended where !ChainsScript.canGoOn(picture.version, with: version): return
        case .queued:
            // A later one that was retried meanwhile may have the name, and is judged itself.
            let isBehind = pictures.contains {
                $0.value.name == picture.name
                    && ($0.key < seq ? !$0.value.state.isEnd : Self.goesOn($0.value))
            }
            if isBehind, picture.name != nil { return }
        case .running, .paused, .suspended, .failing, .cancelling, .quarantined: break
        }
        violated(
            .alive,
            "\(picture.id) is \(picture.state), \(picture.reason ?? ""): \(Self.text(picture))")
    }
}
