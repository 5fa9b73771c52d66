package import RepriseCore
import Synchronization

/// A gateway's part in a cluster: follows the journal, applies it to its view and brings the
/// gateway's own commands into it.
///
/// ```swift
/// let replica = ClusterReplica(view: view, journal: journal)
/// async let running: Void = replica.run { entry, _ in hub.committed(entry.events) }
/// let outcomes = try await replica.submit([.publish(messages)])
/// ```
///
/// What was submitted is answered when it is applied here, and after `onApplied` of
/// ``run(_:onLeftBehind:)``.
package actor ClusterReplica {
    private let view: ClusterView
    private let journal: any ClusterJournal
    private let clock: any Timekeeper
    private var onApplied: @Sendable (AppliedEntry, _ isOwn: Bool) -> Void = { _, _ in }
    private var onLeftBehind: @Sendable () -> Void = {}
    private var writer: SubmissionMachine<CommandOutcome>
    private var tail: TailMachine
    private var answers: [Int64: CheckedContinuation<[CommandOutcome], any Error>] = [:]
    /// What is dropped is sent again.
    private let (outgoing, send) = AsyncStream.makeStream(
        of: [UInt8].self, bufferingPolicy: .bufferingNewest(2 * ClusterLimits.entriesInFlight))
    private var sleeper: (until: Duration, task: Task<Void, Never>)?
    /// An entry of another past, until this gateway has compared its own with the journal.
    private var disputed: StoredEntry?
    /// Whether what was applied in former lives was compared with the journal: nothing is applied
    /// before, since an own entry would be the next also behind another's past.
    private var isVerified: Bool
    /// Up to where all that this gateway remembers was found to be the journal's, in this life.
    private var compared: Int64 = 0
    /// When the journal was last seen to hold what is applied here, by the uptime, and over which
    /// connection.
    private var confirmed: (at: Duration, over: UInt64?)
    private var reading: Task<Void, Never>?
    private var failure: RepriseError?
    private let counted = Mutex(Figures())
    private let name: String
    /// The entry that cannot be applied, until an operator has it skipped or this process is
    /// replaced by a later version.
    private var stuck: (sequence: Int64, error: RepriseError)?
    private var stuckLook: Duration = .zero
    private var stuckReport: Duration = .zero
    private let stuckError = Mutex<RepriseError?>(nil)

    /// What happened since the start.
    package struct Figures: Sendable {
        /// Entries of this gateway, copies too.
        package var sent = 0
        /// Entries of this gateway that count.
        package var stored = 0
        /// Readings of the journal.
        package var reads = 0
    }

    package nonisolated var figures: Figures { counted.withLock { $0 } }

    /// Why nothing is applied, while it waits for an operator to have an entry skipped, to upgrade
    /// this gateway, or to let a node lead that has the next entry.
    package nonisolated var problem: RepriseError? { stuckError.withLock { $0 } }

    /// Makes a replica; it does nothing before ``run(_:onLeftBehind:)``.
    ///
    /// - Parameters:
    ///   - view: nobody else may apply to it.
    ///   - journal: the cluster's.
    ///   - name: of this gateway, for people.
    ///   - clock: by it entries are sent again, and it confirms the journal's time.
    package init(
        view: ClusterView, journal: any ClusterJournal, name: String = "",
        clock: any Timekeeper = SystemTimekeeper()
    ) {
        self.view = view
        self.journal = journal
        self.clock = clock
        self.name = name
        writer = SubmissionMachine(name: name)
        tail = TailMachine(now: clock.uptime())
        confirmed = (clock.uptime(), nil)
        isVerified = view.position.sequence == 0
    }

    /// Follows the journal until it is left, or the task is cancelled; called once.
    ///
    /// Before an entry that no gateway can apply, or that a later version wrote, it waits until
    /// that is skipped: see ``problem``.
    ///
    /// - Parameters:
    ///   - onApplied: receives each applied entry in order, before its answers, and whether this
    ///     gateway wrote it; must not block.
    ///   - onLeftBehind: called when it comes to an entry of a later version: other gateways may go
    ///     on, and this one does not; must not block.
    /// - Throws: ``RepriseCore/RepriseError``: what is applied here is not what the journal holds,
    ///   or the disk has failed. Callers of ``submit(_:)`` get it too.
    package func run(
        _ onApplied: @escaping @Sendable (AppliedEntry, _ isOwn: Bool) -> Void = { _, _ in },
        onLeftBehind: @escaping @Sendable () -> Void = {}
    ) async throws {
        (self.onApplied, self.onLeftBehind) = (onApplied, onLeftBehind)
        defer { end(with: failure ?? RepriseError(.closed, "The server is shutting down.")) }
        if !isVerified { verify(nil) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (journal, outgoing, arrived) = (journal, outgoing, ArrivedEntries())
            group.addTask {
                journal.follow(arrived.put)
                while let entries = await arrived.next() { try await self.heard(entries) }
            }
            group.addTask { for await bytes in outgoing { await journal.send(bytes) } }
            group.addTask {
                while !Task.isCancelled {
                    let sleeper = await self.sleep()
                    await withTaskCancellationHandler {
                        await sleeper.value
                    } onCancel: {
                        sleeper.cancel()
                    }
                    try await self.timerFired()
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Brings commands into the journal, in order.
    ///
    /// - Parameters:
    ///   - commands: at least one.
    ///   - taken: when the server took the request, by the clock's uptime, if it has waited since.
    /// - Returns: what each came to, once it is durable and applied here.
    /// - Throws: as ``CommandSubmission``; `.closed` once ``run(_:onLeftBehind:)`` has ended;
    ///   `CancellationError` for a device's hello whose task is cancelled.
    package func submit(
        _ commands: [ClusterCommand], since taken: Duration? = nil
    ) async throws -> [CommandOutcome] {
        if let failure { throw failure }
        if let stuck {
            throw RepriseError(.unavailable, stuck.error.message, remedy: stuck.error.remedy)
        }
        let (ticket, actions) = try writer.submit(
            commands.map(\.bytes), moment, since: taken)
        guard commands.allSatisfy({ if case .hello = $0 { true } else { false } }) else {
            return try await answer(of: ticket, actions)
        }
        return try await withTaskCancellationHandler {
            try await answer(of: ticket, actions)
        } onCancel: {
            // Its connection has ended: it would supersede what the device has connected since.
            Task { await self.abandon(ticket) }
        }
    }

    private func answer(
        of ticket: Int64, _ actions: [SubmissionMachine<CommandOutcome>.Action]
    ) async throws -> [CommandOutcome] {
        try await withCheckedThrowingContinuation { done in
            answers[ticket] = done
            perform(actions)
            if let sleeper, due < sleeper.until { sleeper.task.cancel() }
        }
    }

    private func abandon(_ ticket: Int64) {
        guard let answer = answers.removeValue(forKey: ticket) else { return }
        writer.abandon(ticket)
        answer.resume(throwing: CancellationError())
    }

    private var moment: SubmissionMachine<CommandOutcome>.Moment {
        .init(now: clock.uptime(), clock: clock.wall(), position: view.position)
    }

    private var due: Duration { min(tail.due, writer.due ?? tail.due) }

    /// Sleeps until a timer is due, or something else is.
    private func sleep() -> Task<Void, Never> {
        let due = due
        let sleeper = Task { [clock] in _ = try? await clock.sleep(until: due) }
        if failure != nil { sleeper.cancel() }
        self.sleeper = (due, sleeper)
        return sleeper
    }

    private func timerFired() throws {
        if let failure { throw failure }
        perform(writer.timerFired(moment))
        let action = tail.timerFired(applied: view.position.sequence, now: clock.uptime())
        if let stuck { return wait(at: stuck) }
        guard disputed != nil || !isVerified else { return try follow(action) }
        if action != nil { verify(disputed) }
    }

    // MARK: Following

    /// Those that follow each other are applied in one transaction.
    private func heard(_ entries: [StoredEntry], isRead: Bool = false) throws {
        var rest = entries[...]
        while disputed == nil, stuck == nil, isVerified, let entry = rest.first {
            let action = tail.heard(
                entry, view.order(of: entry), applied: view.position.sequence, now: clock.uptime())
            var count = 1
            if case .apply = action {
                guard isConfirmed else {
                    // It may stand behind what the journal has lost meanwhile: an own one would
                    // look right here alone.
                    if !isRead { read(after: view.position.sequence) }
                    return
                }
                count = zip(rest, entry.sequence...).prefix { $0.sequence == $1 }.count
                try apply(Array(rest.prefix(count)))
            } else {
                try follow(action)
            }
            rest = rest.dropFirst(count)
        }
    }

    private var isConfirmed: Bool {
        view.position.sequence == 0 || isConfirmed(within: ClusterLimits.confirmedWithin)
    }

    private func isConfirmed(within time: Duration) -> Bool {
        guard let over = confirmed.over, over == journal.connectionNumber else { return false }
        return clock.uptime() - confirmed.at < time
    }

    private func follow(_ action: TailMachine.Action?) throws {
        guard failure == nil, stuck == nil else { return }
        switch action {
        case nil, .apply: break
        case .read(let sequence): read(after: sequence)
        case .wentBack(let sequence):
            throw fail(
                RepriseError(
                    .corrupt, "The journal has gone back: its entry \(sequence) is another one.",
                    remedy: "Look at the cluster; remove this gateway's view to make it anew."))
        }
    }

    /// After a while with the last applied one, so that it is compared.
    private func read(after applied: Int64) {
        counted.withLock { $0.reads += 1 }
        let isFresh = isConfirmed(within: ClusterLimits.confirmedWithin / 2)
        let sequence = isFresh ? applied : max(applied - 1, 0)
        let connection = journal.connectionNumber
        reading = Task { [journal] in
            let found = try? await journal.read(after: sequence)
            var first: Int64?
            if let next = found?.entries.first, next.sequence > sequence + 1 {
                first = try? await journal.status().first
            }
            guard !Task.isCancelled else { return }
            // A failure is kept; the timer's next look ends ``run(_:onLeftBehind:)``.
            try? self.wasRead(
                after: sequence, found?.entries ?? [], last: found?.last, first: first,
                over: connection)
        }
    }

    private func wasRead(
        after sequence: Int64, _ entries: [StoredEntry], last: Int64?, first: Int64?,
        over connection: UInt64?
    ) throws {
        if let first, first > view.position.sequence + 1 {
            throw fail(
                RepriseError(
                    .unavailable,
                    "The journal begins at entry \(first), and this gateway stands at "
                        + "\(view.position.sequence).",
                    remedy: "Start it again: it is made anew from the journal's base."))
        }
        let wasAway = clock.uptime() - confirmed.at >= ClusterLimits.resendAfter
        if view.position.sequence == 0 {
            confirmed = (clock.uptime(), connection)
        } else if let entry = entries.first {
            let isApplied = entry.sequence <= view.position.sequence
            // A base stands for what is before the first one.
            if isApplied ? view.order(of: entry) == .applied : entry.sequence == first {
                confirmed = (clock.uptime(), connection)
            }
        }
        try heard(entries, isRead: true)
        let isMissing =
            first.map { noteMissing(after: sequence, entries.first, first: $0) } ?? false
        // A new leader has not what was sent while there was none.
        if wasAway, isConfirmed { perform(writer.connected(moment)) }
        // What is not confirmed, or not there, is read again after a silence.
        try follow(
            tail.read(
                last: isConfirmed && !isMissing ? last : nil, applied: view.position.sequence,
                now: clock.uptime()))
    }

    /// What was read begins later than asked for.
    ///
    /// - Parameters:
    ///   - sequence: behind which it was read: the last applied one, or the one before that.
    ///   - found: the first that was read.
    ///   - first: the journal's.
    /// - Returns: whether that is no purge, and keeps this gateway from going on.
    private func noteMissing(
        after sequence: Int64, _ found: StoredEntry?, first: Int64
    ) -> Bool {
        let waits = stuck == nil && found.map { $0.sequence > view.position.sequence } ?? false
        let isMissing = waits && first <= sequence + 1
        if isMissing { stuckError.withLock { $0 = Self.missing(sequence + 1) } }
        return isMissing
    }

    private static func missing(_ sequence: Int64) -> RepriseError {
        RepriseError(
            .unavailable,
            "Entry \(sequence) of the journal is missing on the node that leads, and later ones "
                + "are not.",
            remedy: "Its copy of the stream is damaged: let another node lead.")
    }

    /// Applies the next entries, in order.
    private func apply(_ entries: [StoredEntry], isVerified: Bool = false) throws {
        guard failure == nil, stuck == nil, let first = entries.first else { return }
        do {
            let applied = try view.apply(
                entries, isVerified: isVerified, skipping: journal.skipped)
            confirmed.at = clock.uptime()
            for entry in applied {
                let isOwn = writer.isOwn(entry.session)
                if isOwn, entry.disposition == .accepted { counted.withLock { $0.stored += 1 } }
                onApplied(entry, isOwn)
                settle(entry)
            }
            if !applied.isEmpty { stuckError.withLock { $0 = nil } }
            try apply(Array(entries.dropFirst(applied.count)))
        } catch let fault as AdmissionMachine.Fault {
            switch fault {
            case .otherPast:
                disputed = first
                verify(first)
            case .poisonous(let sequence, _): stand(before: sequence, fault.error)
            case .unreadable(let sequence, _):
                stand(before: sequence, fault.error)
                onLeftBehind()
            }
        } catch let error as RepriseError {
            throw fail(error)
        }
    }

    // MARK: Before an entry that cannot be applied

    private func stand(before sequence: Int64, _ error: RepriseError) {
        stuck = (sequence, error)
        (stuckLook, stuckReport) = (clock.uptime(), clock.uptime())
        stuckError.withLock { $0 = error }
        // Who waits would wait in vain.
        var later = moment
        later.now += ClusterLimits.answerWithin
        perform(writer.timerFired(later))
    }

    /// Looks whether it is to be skipped, and tells who looks at the journal that it stands here.
    private func wait(at stuck: (sequence: Int64, error: RepriseError)) {
        let now = clock.uptime()
        if now >= stuckReport {
            stuckReport = now + ClusterLimits.checkEvery
            let report = StuckReport(
                sequence: stuck.sequence, reason: stuck.error.message, name: name)
            let bytes = report.shortened.entry(clock.wall(), view.position)
            Task { [journal] in await journal.send(bytes) }
        }
        guard now >= stuckLook else { return }
        stuckLook = now + Self.stuckPause
        reading = Task { [journal] in
            guard (try? await journal.status()) != nil, !Task.isCancelled else { return }
            try? self.wentOn()
        }
    }

    private static let stuckPause: Duration = .seconds(1)

    private func wentOn() throws {
        guard let stuck, journal.skipped.contains(where: { $0.sequence == stuck.sequence }) else {
            return
        }
        self.stuck = nil
        stuckError.withLock { $0 = nil }
        perform(writer.connected(moment))
        // What was being read or heard was dropped.
        _ = tail.read(last: nil, applied: view.position.sequence, now: clock.uptime())
        read(after: view.position.sequence)
    }

    /// Compares what is applied with the journal: either this gateway or the writer of the entry
    /// has another past; nil at the start, when the newest are enough.
    ///
    /// For an entry all is compared that was not yet: behind a fork that this gateway did not
    /// notice, any number of its own entries may be equal.
    private func verify(_ entry: StoredEntry?) {
        let end = view.position.sequence
        let newest = entry == nil ? end : compared
        let start = max(newest - Self.comparedAgain, entry == nil ? 0 : view.remembered)
        reading = Task { [journal, view] in
            var last = start
            var isOurs: Bool? = end == 0 ? true : nil
            comparing: while isOurs == nil, !Task.isCancelled,
                let found = try? await journal.read(after: last),
                let compared = view.compare(found.entries)
            {
                last = compared.through
                switch compared.isEqual {
                case true?: if last == end { isOurs = true }
                case false?: isOurs = false
                // A base stands for it: whichever at the start, then one of this past alone.
                case nil where entry == nil: isOurs = true
                case nil:
                    guard let bases = journal.bases, let base = try? await bases.newest() else {
                        break comparing
                    }
                    isOurs = base.position == view.position
                }
            }
            guard !Task.isCancelled else { return }
            try? self.wasVerified(entry, isOurs: isOurs, through: last)
        }
    }

    /// How many entries are compared again; at the start, how many are.
    private static let comparedAgain: Int64 = 32

    /// Tries again after a silence where it is not known (`isOurs` is nil); what is equal up to
    /// `last` need not be compared again.
    private func wasVerified(_ entry: StoredEntry?, isOurs: Bool?, through last: Int64) throws {
        if entry != nil, isOurs != false { compared = max(compared, last) }
        _ = tail.read(last: nil, applied: view.position.sequence, now: clock.uptime())
        guard disputed == entry, let isOurs else { return }
        guard isOurs else {
            throw fail(
                AdmissionMachine.Fault.otherPast(
                    sequence: entry?.sequence ?? view.position.sequence + 1,
                    base: view.position.sequence
                ).error)
        }
        isVerified = true
        guard let entry else {
            // There may be more.
            return try follow(
                tail.read(last: .max, applied: view.position.sequence, now: clock.uptime()))
        }
        disputed = nil
        try apply([entry], isVerified: true)
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
            case .send where stuck != nil: break  // Nobody applies it; it is sent again later.
            case .send(let bytes):
                counted.withLock { $0.sent += 1 }
                send.yield(bytes)
            case .answer(let ticket, let result):
                answers.removeValue(forKey: ticket)?.resume(
                    with: result.mapError { $0 as any Error })
            }
        }
    }

    // MARK: Ending

    private func fail(_ error: RepriseError) -> RepriseError {
        failure = failure ?? error
        sleeper?.task.cancel()
        return error
    }

    private func end(with error: RepriseError) {
        failure = error
        reading?.cancel()
        for answer in answers.values { answer.resume(throwing: error) }
        answers.removeAll()
        send.finish()
    }
}

extension AdmissionMachine.Fault {
    /// For people.
    package var error: RepriseError {
        switch self {
        case .otherPast(let sequence, _):
            RepriseError(
                .corrupt,
                "The journal does not hold what this gateway applied before entry \(sequence).",
                remedy: "Look at the cluster; remove this gateway's view to make it anew.")
        case .unreadable(let sequence, let reason):
            RepriseError(
                reason.code, "Entry \(sequence) of the journal cannot be read: \(reason.message)",
                remedy: "\(reason.remedy ?? "Upgrade this gateway.") If no version can read it, "
                    + "and no gateway has applied it: reprise cluster skip \(sequence).")
        case .poisonous(let sequence, let reason):
            RepriseError(
                .internal, "Entry \(sequence) of the journal cannot be applied: \(reason.message)",
                remedy: "If no gateway can: reprise cluster skip \(sequence). If others have "
                    + "applied it, upgrade this gateway to their version, or else remove its view.")
        }
    }
}
