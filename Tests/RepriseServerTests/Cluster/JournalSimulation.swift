import RepriseCore
import RepriseServer
import RepriseTesting
import RepriseWire

/// Several gateways over one faulty journal, in virtual time.
///
/// Their view is a list of what was accepted: each command carries its gateway's life and its
/// number there. ``violation`` says what is wrong with the run.
struct JournalSimulation {
    /// What a gateway does wrong, to see that it is noticed.
    enum Break: CaseIterable {
        case none
        /// Numbers within a session are not looked at.
        case ignoresNumbers
        /// What is not settled is not sent again.
        case neverResends
        /// A hole in the journal is not read.
        case skipsHoles
        /// Answered when it is sent.
        case answersEarly
    }

    private struct Applied: Hashable {
        let life: Int
        let number: Int64
    }

    private struct Gateway {
        var admission = AdmissionMachine()
        var writer: SubmissionMachine<Int64>
        var tail: TailMachine
        var life: Int
        var view: [Applied] = []
        var digests: [Int64: JournalDigest] = [:]
        var submitted: Int64 = 0
        /// The numbers behind a ticket.
        var tickets: [Int64: ClosedRange<Int64>] = [:]
        var read: (at: Duration, after: Int64)?
        var isDown = false
    }

    private(set) var violation: String?
    private(set) var answered = 0
    private(set) var unanswered = 0
    private(set) var journal: FaultyJournal
    private var gateways: [Gateway] = []
    private var random: SeededGenerator
    private var now: Duration = .zero
    private var lives = 0
    private var promised: Set<Applied> = []
    private let broken: Break
    private let seconds: Int

    init(seed: UInt64, seconds: Int = 20, broken: Break = .none) {
        self.broken = broken
        self.seconds = seconds
        random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...4, using: &random)
        journal = FaultyJournal(seed: seed ^ 0x9e37, readers: count)
        for _ in 0..<count { gateways.append(begin()) }
    }

    private mutating func begin() -> Gateway {
        lives += 1
        let life = Int64(lives)
        return Gateway(
            writer: SubmissionMachine(nonces: { life }), tail: TailMachine(now: now), life: lives)
    }

    // MARK: Running

    mutating func run() {
        let end = Duration.seconds(seconds)
        while now < end, violation == nil { step(submits: true) }
        // Without faults everything is settled within the time of a caller's patience.
        journal.faults = .none
        let last = end + .seconds(60)
        while now < last, violation == nil { step(submits: false) }
        check()
    }

    private mutating func step(submits: Bool) {
        if submits { act() }
        for index in gateways.indices {
            timers(index)
            reading(index)
        }
        for (reader, entry) in journal.advance(to: now) where !gateways[reader].isDown {
            hear(entry, reader)
        }
        now += .milliseconds(submits ? 5 : 50)
    }

    private mutating func act() {
        let index = Int.random(in: gateways.indices, using: &random)
        switch Int.random(in: 0..<10_000, using: &random) {
        case 0..<2: restart(index, keepsView: true)
        case 2: restart(index, keepsView: false)
        case 3..<6:
            gateways[index].isDown.toggle()
        case 6..<800 where !gateways[index].isDown: submit(index)
        default: break
        }
    }

    private mutating func restart(_ index: Int, keepsView: Bool) {
        var new = begin()
        if keepsView {
            new.view = gateways[index].view
            new.admission = gateways[index].admission
            new.digests = gateways[index].digests
        }
        gateways[index] = new
    }

    private mutating func submit(_ index: Int) {
        let first = gateways[index].submitted + 1
        let last = first + Int64.random(in: 0..<3, using: &random)
        let commands = (first...last).map { number in
            ClusterCommand.trim(Self.channel(gateways[index].life), through: number, grant: nil)
                .bytes
        }
        do {
            let (ticket, actions) = try gateways[index].writer.submit(commands, moment(index))
            gateways[index].submitted = last
            gateways[index].tickets[ticket] = first...last
            if broken == .answersEarly {
                promise(index, first...last)
            }
            perform(actions, index)
        } catch {
            violation = "a submission was refused: \(error)"
        }
    }

    private static func channel(_ life: Int) -> ChannelName {
        do { return try ChannelName("life\(life)") } catch { preconditionFailure("\(error)") }
    }

    private func moment(_ index: Int) -> SubmissionMachine<Int64>.Moment {
        .init(now: now, clock: journal.wall(now), position: gateways[index].admission.position)
    }

    private mutating func timers(_ index: Int) {
        guard !gateways[index].isDown else { return }
        if let due = gateways[index].writer.due, due <= now, broken != .neverResends {
            perform(gateways[index].writer.timerFired(moment(index)), index)
        }
        let applied = gateways[index].admission.position.sequence
        perform(gateways[index].tail.timerFired(applied: applied, now: now), index)
    }

    private mutating func reading(_ index: Int) {
        guard !gateways[index].isDown, let read = gateways[index].read, read.at <= now else {
            return
        }
        gateways[index].read = nil
        let fails = Int.random(in: 0..<10, using: &random) == 0
        if !fails {
            for entry in journal.read(after: read.after) { hear(entry, index) }
        }
        let applied = gateways[index].admission.position.sequence
        let last = fails ? nil : Int64(journal.entries.count)
        perform(gateways[index].tail.read(last: last, applied: applied, now: now), index)
    }

    private mutating func hear(_ entry: StoredEntry, _ index: Int) {
        var order = gateways[index].admission.order(of: entry)
        if broken == .skipsHoles, order == .ahead { order = .next }
        let applied = gateways[index].admission.position.sequence
        perform(
            gateways[index].tail.heard(entry, order, applied: applied, now: now), index)
    }

    private mutating func perform(_ action: TailMachine.Action?, _ index: Int) {
        switch action {
        case nil: break
        case .apply(let entry): apply(entry, index)
        case .read(let after):
            let delay = Duration.milliseconds(20) * Double.random(in: 0..<1, using: &random)
            gateways[index].read = (now + delay, after)
        case .wentBack(let sequence): violation = "the journal went back to \(sequence)"
        }
    }

    private mutating func perform(_ actions: [SubmissionMachine<Int64>.Action], _ index: Int) {
        for action in actions {
            switch action {
            case .send(let bytes): journal.send(bytes, at: now)
            case .answer(let ticket, .success(let outcomes)):
                answered += 1
                guard let range = gateways[index].tickets.removeValue(forKey: ticket) else {
                    violation = "ticket \(ticket) was answered twice"
                    return
                }
                guard outcomes == Array(range) else {
                    violation = "\(range) was answered with \(outcomes)"
                    return
                }
                promise(index, range)
            case .answer(let ticket, .failure):
                unanswered += 1
                gateways[index].tickets[ticket] = nil
            }
        }
    }

    private mutating func promise(_ index: Int, _ range: ClosedRange<Int64>) {
        for number in range {
            promised.insert(Applied(life: gateways[index].life, number: number))
        }
    }

    private mutating func apply(_ stored: StoredEntry, _ index: Int) {
        do {
            var stored = stored
            if broken == .skipsHoles {
                stored.sequence = gateways[index].admission.position.sequence + 1
            }
            let admission = try gateways[index].admission.admit(stored)
            gateways[index].digests[stored.sequence] = gateways[index].admission.position.digest
            take(admission, stored.sequence, index)
        } catch {
            violation = "\(error)"
        }
    }

    private mutating func take(
        _ admission: AdmissionMachine.Admission, _ sequence: Int64, _ index: Int
    ) {
        guard let entry = admission.entry else { return }
        var disposition = admission.disposition
        if broken == .ignoresNumbers,
            [.ignored(.duplicate), .ignored(.early)].contains(disposition)
        {
            disposition = .accepted
        }
        switch disposition {
        case .opened(let nonce):
            perform(
                gateways[index].writer.opened(nonce: nonce, session: sequence, moment(index)),
                index)
        case .accepted:
            var outcomes: [Int64] = []
            for case .trim(let channel, let number, _) in entry.commands {
                let life = Int(channel.text.dropFirst(4)) ?? 0
                gateways[index].view.append(Applied(life: life, number: number))
                outcomes.append(number)
            }
            perform(
                gateways[index].writer.applied(
                    entry.n, of: entry.session, .accepted, outcomes, moment(index)), index)
        case .ignored:
            perform(
                gateways[index].writer.applied(
                    entry.n, of: entry.session, disposition, [], moment(index)), index)
        }
    }

    // MARK: Checking

    private mutating func check() {
        guard violation == nil else { return }
        for index in gateways.indices where !gateways[index].isDown {
            checkView(gateways[index], index)
            if violation != nil { return }
        }
    }

    private mutating func checkView(_ gateway: Gateway, _ index: Int) {
        // The journal was read anew by nobody but the test.
        var digest = JournalDigest.zero
        for entry in journal.entries {
            digest = digest.appending(entry)
            if let known = gateway.digests[entry.sequence], known != digest {
                violation = "gateway \(index) has another digest at \(entry.sequence)"
                return
            }
        }
        guard gateway.admission.position.sequence == Int64(journal.entries.count) else {
            violation = "gateway \(index) stands at \(gateway.admission.position.sequence)"
            return
        }
        guard gateway.writer.isIdle, gateway.tickets.isEmpty else {
            violation = "gateway \(index) has not settled everything"
            return
        }
        let standing = gateways.first { !$0.isDown }
        guard gateway.view == standing?.view else {
            violation = "gateway \(index) has another view"
            return
        }
        // What nobody waits for any more may be missing.
        var last: [Int: Int64] = [:]
        for applied in gateway.view {
            guard applied.number > last[applied.life] ?? 0 else {
                violation =
                    "\(applied.number) follows \(last[applied.life] ?? 0) of \(applied.life)"
                return
            }
            last[applied.life] = applied.number
        }
        let missing = promised.subtracting(gateway.view).first
        if let missing {
            violation = "\(missing.number) of \(missing.life) was promised, and is not there"
        }
    }
}
