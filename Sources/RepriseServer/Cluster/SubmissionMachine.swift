import DequeModule
package import RepriseCore

/// Brings the commands of one gateway into the journal, each once and in order.
///
/// Entries are numbered within a session. At most ``ClusterLimits/entriesInFlight`` are under way;
/// an entry is settled when this gateway has applied it. If the next one does not come in time, it
/// and all behind it are sent again, with a base of then (go-back-n); the copies count once: see
/// ``AdmissionMachine``. `none → opening → open`; a session that is forgotten is opened anew, and
/// what is not settled gets new numbers.
package struct SubmissionMachine<Outcome: Sendable>: Sendable {
    package enum Action: Sendable {
        /// Publish these bytes to the journal; whether they arrive shows later.
        case send([UInt8])
        case answer(ticket: Int64, Result<[Outcome], RepriseError>)
    }

    /// What the entries are sent with.
    package struct Moment: Sendable {
        /// The device's uptime.
        package var now: Duration
        /// By this gateway's clock.
        package var clock: WallTime
        /// The last applied entry.
        package var position: JournalPosition

        package init(now: Duration, clock: WallTime, position: JournalPosition) {
            (self.now, self.clock, self.position) = (now, clock, position)
        }
    }

    private struct Command: Sendable {
        let ticket: Int64
        var bytes: [UInt8]
    }

    private struct Pending: Sendable {
        var n: Int64
        var commands: [Command]
        var isSentAgain = false
    }

    private struct Ticket: Sendable {
        var open: Int
        var outcomes: [Outcome] = []
    }

    private enum Session: Hashable, Sendable {
        case none
        case opening(nonce: Int64)
        case open(Int64)
    }

    private var session = Session.none
    private var next: Int64 = 1
    private var waiting: Deque<Command> = []
    private var pending: Deque<Pending> = []
    private var tickets: [Int64: Ticket] = [:]
    /// In the order of their times.
    private var deadlines: Deque<(ticket: Int64, at: Duration)> = []
    private var lastTicket: Int64 = 0
    private var resendAt: Duration?
    private var waitingBytes = 0
    private let nonces: @Sendable () -> Int64
    private let name: String
    private let waitingLimit: (commands: Int, bytes: Int)

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - waitingCommands: the most commands that wait or are under way.
    ///   - waitingBytes: the most bytes of these.
    ///   - name: of the gateway, for people; at most 64 bytes of it are used.
    ///   - nonces: names sessions; two writers never draw one number.
    package init(
        waitingCommands: Int = ClusterLimits.waitingCommands,
        waitingBytes: Int = ClusterLimits.waitingBytes, name: String = "",
        nonces: @escaping @Sendable () -> Int64 = { .random(in: .min ... .max) }
    ) {
        waitingLimit = (waitingCommands, waitingBytes)
        self.name = name.limited(to: 64)
        self.nonces = nonces
    }

    /// When ``timerFired(_:)`` is due; nil for never.
    package var due: Duration? {
        [resendAt, deadlines.first?.at].compactMap { $0 }.min()
    }

    /// Whether every command is settled.
    package var isIdle: Bool { waiting.isEmpty && pending.isEmpty }

    /// Whether entries of this session are this writer's.
    package func isOwn(_ session: Int64) -> Bool { self.session == .open(session) }

    // MARK: Events

    /// Takes commands that are answered together.
    ///
    /// - Parameters:
    ///   - commands: in order, each as ``ClusterCommand/bytes``; at least one.
    ///   - moment: what is sent now is sent with it.
    ///   - taken: when the server took the request, by the uptime, if it has waited since: the time
    ///     for its answer counts from then.
    /// - Returns: the ticket of the answer, and what to do.
    /// - Throws: ``RepriseCore/RepriseError`` `.full`; `.tooLarge` for a command that no entry can
    ///   hold; `.unavailable` for one that has waited too long. Then nothing is taken.
    package mutating func submit(
        _ commands: [[UInt8]], _ moment: Moment, since taken: Duration? = nil
    ) throws(RepriseError) -> (ticket: Int64, [Action]) {
        let bytes = commands.reduce(0) { $0 + $1.count }
        guard commands.allSatisfy({ $0.count <= Self.commandBytes }) else {
            throw RepriseError(
                .tooLarge, "A change has at most \(Self.commandBytes) bytes in a cluster.")
        }
        let count = waiting.count + pending.reduce(0) { $0 + $1.commands.count }
        guard count + commands.count <= waitingLimit.commands,
            waitingBytes + bytes <= waitingLimit.bytes
        else {
            throw RepriseError(
                .full, "Too many changes wait to be stored.", remedy: "Try again shortly.")
        }
        let deadline = min(taken ?? moment.now, moment.now) + ClusterLimits.answerWithin
        guard deadline > moment.now else { throw Self.late }
        lastTicket += 1
        tickets[lastTicket] = Ticket(open: commands.count)
        let place = deadlines.lastIndex { $0.at <= deadline }.map { $0 + 1 } ?? 0
        deadlines.insert((lastTicket, deadline), at: place)
        waitingBytes += bytes
        for command in commands { waiting.append(Command(ticket: lastTicket, bytes: command)) }
        return (lastTicket, send(moment))
    }

    /// This gateway has applied an entry that opens a session.
    package mutating func opened(nonce: Int64, session id: Int64, _ moment: Moment) -> [Action] {
        guard session == .opening(nonce: nonce) else { return [] }
        session = .open(id)
        renumber()
        return sendPending(moment) + send(moment)
    }

    /// This gateway has applied, or ignored, an entry of a session.
    ///
    /// - Parameters:
    ///   - n: its number.
    ///   - id: its session; one of another writer is none of ours.
    ///   - disposition: see ``AdmissionMachine``.
    ///   - outcomes: of an accepted entry, one for each command.
    ///   - moment: what is sent now is sent with it.
    /// - Returns: what to do.
    package mutating func applied(
        _ n: Int64, of id: Int64, _ disposition: AdmissionMachine.Disposition,
        _ outcomes: [Outcome], _ moment: Moment
    ) -> [Action] {
        guard session == .open(id) else { return [] }
        switch disposition {
        case .accepted: return settle(n, outcomes) + send(moment)
        case .ignored(.unknownSession):
            session = .none
            return open(moment)
        case .ignored(.early), .ignored(.stale):
            guard let first = pending.first, !first.isSentAgain else { return [] }
            return sendPending(moment)
        case .ignored(.duplicate), .ignored(.otherPast), .ignored(.noEntry), .opened: return []
        }
    }

    /// Its caller waits no longer: what was not sent is not sent any more, and where it is sent
    /// again nothing stands for it.
    package mutating func abandon(_ ticket: Int64) { tickets[ticket] = nil }

    /// The connection to the journal is there again, or has refused an entry: nothing that was sent
    /// can be relied on.
    package mutating func connected(_ moment: Moment) -> [Action] { resend(moment) }

    /// What is under way is sent again, and callers who have waited too long are told so.
    package mutating func timerFired(_ moment: Moment) -> [Action] {
        var actions: [Action] = []
        while let first = deadlines.first, first.at <= moment.now {
            deadlines.removeFirst()
            guard tickets.removeValue(forKey: first.ticket) != nil else { continue }
            actions.append(.answer(ticket: first.ticket, .failure(Self.unknown)))
        }
        if !actions.isEmpty { dropAbandoned() }
        guard let resendAt, resendAt <= moment.now else { return actions }
        return actions + resend(moment)
    }

    // MARK: Sending

    private mutating func resend(_ moment: Moment) -> [Action] {
        switch session {
        case .none: isIdle ? [] : open(moment)
        case .opening: open(moment)
        case .open: sendPending(moment)
        }
    }

    /// A second session does no harm: the first that is applied counts.
    private mutating func open(_ moment: Moment) -> [Action] {
        let nonce: Int64
        if case .opening(let former) = session { nonce = former } else { nonce = nonces() }
        session = .opening(nonce: nonce)
        resendAt = moment.now + ClusterLimits.resendAfter
        let command = ClusterCommand.session(nonce: nonce, name: name).bytes
        return [
            .send(
                ClusterEntry.bytes(
                    session: 0, n: 1, clock: moment.clock, base: moment.position,
                    commands: [command]))
        ]
    }

    /// Makes entries of what waits, as many as may be under way.
    private mutating func send(_ moment: Moment) -> [Action] {
        var actions: [Action] = []
        if session == .none, !waiting.isEmpty { actions = open(moment) }
        guard case .open(let id) = session else { return actions }
        while pending.count < ClusterLimits.entriesInFlight, !waiting.isEmpty {
            let commands = takeCommands()
            guard !commands.isEmpty else { break }
            let entry = Pending(n: next, commands: commands)
            next += 1
            pending.append(entry)
            actions.append(.send(bytes(of: entry, in: id, moment)))
        }
        resendAt = pending.isEmpty ? nil : resendAt ?? moment.now + ClusterLimits.resendAfter
        return actions
    }

    private mutating func sendPending(_ moment: Moment) -> [Action] {
        guard case .open(let id) = session, !pending.isEmpty else { return [] }
        dropAbandoned()
        resendAt = moment.now + ClusterLimits.resendAfter
        for index in pending.indices { pending[index].isSentAgain = true }
        return pending.map { .send(bytes(of: $0, in: id, moment)) }
    }

    private func bytes(of entry: Pending, in id: Int64, _ moment: Moment) -> [UInt8] {
        ClusterEntry.bytes(
            session: id, n: entry.n, clock: moment.clock, base: moment.position,
            commands: entry.commands.map(\.bytes))
    }

    /// Takes what fits into one entry, of what somebody still waits for.
    private mutating func takeCommands() -> [Command] {
        var (taken, bytes): ([Command], Int) = ([], ClusterEntry.headBytes)
        while let command = waiting.first, taken.count < ClusterLimits.entryCommands {
            if tickets[command.ticket] == nil {
                waitingBytes -= command.bytes.count
            } else {
                bytes += command.bytes.count
                if bytes > ClusterLimits.entryBytes { break }
                taken.append(command)
            }
            waiting.removeFirst()
        }
        return taken
    }

    private mutating func renumber() {
        next = 1
        for index in pending.indices {
            pending[index].n = next
            next += 1
        }
    }

    // MARK: Answers

    private mutating func settle(_ n: Int64, _ outcomes: [Outcome]) -> [Action] {
        guard let entry = pending.first, entry.n == n else { return [] }
        pending.removeFirst()
        resendAt = nil
        for index in pending.indices { pending[index].isSentAgain = false }
        var actions: [Action] = []
        for (command, outcome) in zip(entry.commands, outcomes) {
            waitingBytes -= command.bytes.count
            guard var ticket = tickets[command.ticket] else { continue }
            ticket.outcomes.append(outcome)
            ticket.open -= 1
            tickets[command.ticket] = ticket.open > 0 ? ticket : nil
            guard ticket.open == 0 else { continue }
            actions.append(.answer(ticket: command.ticket, .success(ticket.outcomes)))
        }
        while let first = deadlines.first, tickets[first.ticket] == nil { deadlines.removeFirst() }
        return actions
    }

    /// Callers were told that the outcome is unknown, or wait no longer: what was not sent is not
    /// sent any more, and in entries that are sent again nothing stands for it.
    ///
    /// A gateway that was cut off for long would else do what somebody has since undone elsewhere.
    private mutating func dropAbandoned() {
        let nothing = ClusterCommand.nop.bytes
        for index in pending.indices {
            for place in pending[index].commands.indices {
                let command = pending[index].commands[place]
                guard tickets[command.ticket] == nil else { continue }
                waitingBytes -= command.bytes.count - nothing.count
                pending[index].commands[place].bytes = nothing
            }
        }
        while let command = waiting.first, tickets[command.ticket] == nil {
            waitingBytes -= command.bytes.count
            waiting.removeFirst()
        }
    }

    /// The most bytes of one command.
    private static var commandBytes: Int { ClusterLimits.entryBytes - ClusterEntry.headBytes }

    private static var late: RepriseError {
        RepriseError(
            .unavailable, "The cluster's journal was not there in time: this was not stored.",
            remedy: "Send it again with the same id.")
    }

    private static var unknown: RepriseError {
        RepriseError(
            .unavailable, "The cluster does not know whether this was stored.",
            remedy: "Send it again with the same id.")
    }
}
