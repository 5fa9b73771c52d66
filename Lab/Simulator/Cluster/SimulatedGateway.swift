import Foundation
import RepriseCore
import RepriseServer
import RepriseWire
import Synchronization

/// A gateway's part in a simulated cluster: what `ClusterReplica` does with the shipping machines,
/// over the shipping view.
///
/// The view outlives a kill. A loss of power takes what SQLite had not moved out of its write-ahead
/// log, and the view may be lost as a whole.
final class SimulatedGateway: JournaledStore {
    typealias Reply = (Result<[CommandOutcome], RepriseError>) -> Void

    /// The server around it, which has it.
    private weak var itsServer: SimulatedServer?
    let simulation: Simulation
    let number: Int
    private let journal: SimulatedStream
    private let files: ViewFiles
    private(set) var view: ClusterView
    private var writer = SubmissionMachine<CommandOutcome>()
    private var tail = TailMachine(now: .zero)
    private var replies: [Int64: Reply] = [:]
    private var turn = 0
    private let nonces: Nonces
    private var cutOffUntil: Duration = .zero
    private var losesView = false
    /// An entry of another past, until this gateway has compared its own with the journal.
    private var disputed: StoredEntry?
    /// Whether what was applied in former lives was compared with the journal.
    private var isVerified = true
    /// When the journal was last seen to hold what is applied here, and over which connection.
    private var confirmed: (at: Duration, over: UInt64?) = (.zero, nil)
    /// Why it has stopped for good.
    private(set) var stopped: String?
    var receipts: ReceiptsGateway?
    var keeper: Keepers.Keeper?
    /// Its part in bases, once some are made.
    var bases: BasesGateway?
    /// Its part in pushes, once there are some.
    var pushes: PushesGateway?
    /// Whether it does not know yet if the journal reaches its view.
    private(set) var isJoining = false
    /// When it applied each entry.
    private var moments: [Int64: Duration] = [:]

    /// Makes a gateway; `number` tells it from the others.
    init(
        _ simulation: Simulation, _ journal: SimulatedStream, number: Int, files: ViewFiles
    ) throws {
        self.simulation = simulation
        self.number = number
        self.journal = journal
        self.files = files
        view = try files.open()
        nonces = Nonces(number)
        // Who waits for an answer may hold this.
        simulation.whenEnded { [weak self] in self?.replies = [:] }
    }

    var process: SimulatedProcess { server.process }

    private var server: SimulatedServer {
        guard let itsServer else { preconditionFailure("driver bug: it serves nobody") }
        return itsServer
    }

    func serve(_ server: SimulatedServer) {
        itsServer = server
        journal.add(self)
    }

    // MARK: Faults

    /// Whether nothing goes between it and the journal.
    var isCutOff: Bool {
        guard simulation.now < cutOffUntil else { return false }
        simulation.met(.gatewayCutOff)
        return true
    }

    func cutOff(for length: Duration) { cutOffUntil = simulation.now + length }

    /// Its next start finds no view.
    func loseView() { losesView = true }

    func heal() { cutOffUntil = .zero }

    // MARK: A life

    /// The process has started.
    func begin() {
        writer = SubmissionMachine(nonces: nonces.next)
        tail = TailMachine(now: now)
        (replies, disputed, stopped) = ([:], nil, nil)
        confirmed = (now, nil)
        isJoining = bases != nil
        guard let bases else { return beginFollowing() }
        bases.join { [unowned self] in
            isJoining = false
            beginFollowing()
            bases.begin()
        }
    }

    private func beginFollowing() {
        // It can be wrong only behind a journal that is not what it was.
        isVerified = !journal.isDoubted || view.position.sequence == 0
        if simulation.mutation == .clusterStartsBlindly { isVerified = true }
        if !isVerified { verify(nil) }
        lookLater()
        receipts?.begin()
        keeper?.begin()
        pushes?.begin()
    }

    var now: Duration { process.clock.uptime() }

    private var moment: SubmissionMachine<CommandOutcome>.Moment {
        .init(now: now, clock: process.clock.wall(), position: view.position)
    }

    /// Brings commands into the journal; `reply` hears what each came to, once it is applied here.
    func submit(_ commands: [ClusterCommand], _ reply: @escaping Reply) {
        do {
            let (ticket, actions) = try writer.submit(commands.map(\.bytes), moment)
            replies[ticket] = reply
            perform(actions)
            lookLater()
        } catch {
            reply(.failure(error))
        }
    }

    /// Entries have come, live or read.
    func heard(_ entries: [StoredEntry]) {
        guard !isJoining else { return }
        for var entry in entries
        where process.state == .running && disputed == nil && isVerified {
            let isNoise = (try? ClusterEntry(entry.bytes)) == nil
            if isNoise, simulation.mutation == .clusterStopsAtInvalidEntry {
                return stop("entry \(entry.sequence) is no entry")
            }
            var order = view.order(of: entry)
            if simulation.mutation == .clusterForgetsPast, order == .changed { order = .applied }
            if simulation.mutation == .clusterSkipsHoles, order == .ahead {
                (entry.sequence, order) = (view.position.sequence + 1, .next)
            }
            let action = tail.heard(entry, order, applied: view.position.sequence, now: now)
            if case .apply? = action, !isConfirmed {
                return follow(.read(after: view.position.sequence))
            }
            follow(action)
        }
        if process.state == .running { lookLater() }
    }

    /// It can be wrong only behind a journal that is not what it was.
    private var isConfirmed: Bool {
        !journal.isDoubted || view.position.sequence == 0
            || isConfirmed(within: ClusterLimits.confirmedWithin)
            || simulation.mutation == .clusterStartsBlindly
            || simulation.mutation == .clusterForgetsPast
    }

    private func isConfirmed(within time: Duration) -> Bool {
        confirmed.over == journal.connectionNumber && now - confirmed.at < time
    }

    private func lookLater() {
        turn += 1
        let turn = turn
        let due = min(tail.due, writer.due ?? tail.due)
        simulation.after(max(due - now, .zero), on: process) { [unowned self] in
            guard turn == self.turn else { return }
            if simulation.mutation != .clusterNeverResends { perform(writer.timerFired(moment)) }
            let action = tail.timerFired(applied: view.position.sequence, now: now)
            if disputed == nil, isVerified {
                follow(action)
            } else if action != nil {
                verify(disputed)
            }
            if process.state == .running { lookLater() }
        }
    }

    private func follow(_ action: TailMachine.Action?) {
        switch action {
        case nil: break
        case .apply(let entry): apply(entry)
        case .wentBack(let sequence):
            stop("entry \(sequence) of the journal is another one")
        case .read(let applied):
            let isFresh = isConfirmed(within: ClusterLimits.confirmedWithin / 2)
            let sequence = isFresh || !journal.isDoubted ? applied : max(applied - 1, 0)
            let connection = journal.connectionNumber
            journal.read(after: sequence, for: self) { [unowned self] entries, last in
                guard let bases = self.bases, let next = entries.first,
                    next.sequence > sequence + 1
                else {
                    return wasRead(entries, last: last, first: nil, over: connection)
                }
                bases.findBeginning { [unowned self] first in
                    wasRead(entries, last: last, first: first, over: connection)
                }
            }
        }
    }

    /// `first` is the journal's, where it was asked for.
    private func wasRead(
        _ entries: [StoredEntry], last: Int64?, first: Int64?, over connection: UInt64
    ) {
        if let first, first > view.position.sequence + 1,
            simulation.mutation != .clusterAwaitsPurged
        {
            return fail("stands before the journal's first entry, \(first)")
        }
        if let entry = entries.first {
            let isApplied = entry.sequence <= view.position.sequence
            // A base stands for what is before the first one.
            if isApplied ? view.order(of: entry) == .applied : entry.sequence == first {
                confirmed = (now, connection)
            }
        }
        heard(entries)
        guard process.state == .running else { return }
        follow(tail.read(last: last, applied: view.position.sequence, now: now))
        lookLater()
    }

    private func apply(_ entry: StoredEntry, isVerified: Bool = false) {
        guard process.survives("applying entry \(entry.sequence)") else { return }
        guard server.disk.commit() == .done else { return fail("cannot write its view") }
        do {
            for applied in try view.apply([entry], isVerified: isVerified) {
                confirmed.at = now
                moments[applied.sequence] = simulation.now
                guard process.survives("telling of entry \(applied.sequence)") else { return }
                server.life?.applied(applied)
                receipts?.applied(applied)
                bases?.applied(applied, isOwn: writer.isOwn(applied.session))
                settle(applied)
            }
        } catch let fault as AdmissionMachine.Fault {
            guard case .otherPast = fault else {
                return simulation.violated(.agreement, "entry \(entry.sequence): \(fault)")
            }
            switch simulation.mutation {
            case .clusterForgetsPast: apply(entry, isVerified: true)
            case .clusterStopsForOthers: stop("entry \(entry.sequence) is of another past")
            default: verify(entry)
            }
        } catch {
            simulation.violated(.agreement, "entry \(entry.sequence) cannot be applied: \(error)")
        }
    }

    /// Compares what was applied last with the journal: either this gateway or the writer of the
    /// entry has another past; nil at the start.
    ///
    /// Its journal goes back by a few entries, so the newest are enough, where `ClusterReplica`
    /// compares all.
    private func verify(_ entry: StoredEntry?) {
        disputed = entry
        compare(entry, after: max(view.position.sequence - 32, 0))
    }

    private func compare(_ entry: StoredEntry?, after sequence: Int64) {
        journal.read(after: sequence, for: self) { [unowned self] entries, _ in
            let end = view.position.sequence
            guard disputed == entry, process.state == .running else { return }
            let compared = view.compare(entries)
            if let compared, compared.isEqual == true, compared.through < end {
                return compare(entry, after: compared.through)
            }
            _ = tail.read(last: nil, applied: end, now: now)
            // Where it is not known it is compared again after a silence.
            if let compared {
                disputed = nil
                // At the start a base stands for what the journal has no more.
                guard compared.isEqual ?? (entry == nil) || end == 0 else {
                    return stop("the journal is not what was applied up to \(end)")
                }
                isVerified = true
                if let entry { apply(entry, isVerified: true) }
            }
            if process.state == .running { lookLater() }
        }
    }

    /// The journal does not hold what is applied here: it says so and serves nobody.
    private func stop(_ why: String) {
        guard journal.hasGoneBack else {
            return simulation.violated(.agreement, "a gateway stops: \(why)")
        }
        process.kill("stops: \(why)")
        stopped = why
    }

    private func settle(_ entry: AppliedEntry) {
        switch entry.disposition {
        case .opened(let nonce):
            perform(writer.opened(nonce: nonce, session: entry.sequence, moment))
        case .accepted, .ignored:
            perform(
                writer.applied(
                    entry.n, of: entry.session, entry.disposition, entry.outcomes, moment))
        }
    }

    private func perform(_ actions: [SubmissionMachine<CommandOutcome>.Action]) {
        for action in actions {
            switch action {
            case .send(let bytes): journal.send(bytes, from: self)
            case .answer(let ticket, let result): replies.removeValue(forKey: ticket)?(result)
            }
        }
    }

    /// As a service manager does, it starts again a little later.
    func fail(_ why: String) {
        process.kill(why)
        simulation.after(.seconds(2)) { [unowned self] in process.start() }
    }

    /// As retention does by count: the gateway that does it says up to where.
    func trim(_ policy: RetentionPolicy, of channels: [ChannelName]) {
        guard process.state == .running, let count = policy.count else { return }
        let grant = keeper?.grant
        guard keeper == nil || grant != nil else { return }
        do {
            let commands = try channels.compactMap { channel -> ClusterCommand? in
                let through = try state(of: channel).head - count
                return through > 0 ? .trim(channel, through: through, grant: grant) : nil
            }
            if !commands.isEmpty { submit(commands) { _ in } }
        } catch {
            simulation.violated(.agreement, "the view cannot be read: \(error)")
        }
    }

    // MARK: What it has

    /// When it had applied all that the journal held at a moment; nil before that.
    func applied(through moment: Duration) -> Duration? {
        let first = journal.moments.firstIndex { $0 >= moment } ?? journal.moments.endIndex
        return first == journal.moments.endIndex ? moment : moments[Int64(first) + 1]
    }

    func grant(_ who: Principal, in channel: ChannelName) throws -> Grant {
        try view.grant(who, in: channel)
    }

    /// Copies its view, as a base is.
    func copyView() throws -> [UInt8] {
        try files.copying { copy in
            try view.copy(to: copy)
            return try Array(Data(contentsOf: copy))
        }
    }

    /// Hashes what a copy of a view holds.
    func hash(of copy: [UInt8]) throws -> [UInt8] {
        try files.copying { file in
            try Data(copy).write(to: file)
            return try ViewContent.hashNow(of: file)
        }
    }

    /// Makes its view anew from a base.
    func install(_ base: [UInt8]) throws {
        view = try files.copying { file in
            try Data(base).write(to: file)
            return try files.install(file, replacing: view)
        }
    }

    /// Its view holds something that no other has.
    func damageView() throws { try files.damage() }

    func crash(losingPower: Bool, keepsUnsynced: Bool) throws -> [ServerFrame.Event] {
        // The snapshot of a mark keeps SQLite from moving all of the write-ahead log into the file.
        let isGone = losesView || losingPower && bases != nil
        view = try files.reopen(isGone ? .nothing : losingPower ? .database : .all, view)
        losesView = false
        return []
    }
}

/// Names a gateway's sessions, each by another number.
private final class Nonces: Sendable {
    private let last: Atomic<Int64>

    init(_ gateway: Int) { last = Atomic(Int64(gateway) << 32) }

    @Sendable func next() -> Int64 { last.add(1, ordering: .relaxed).newValue }
}
