package import Logging
package import RepriseCore
import Synchronization

/// A server's part in a cluster: its view of the journal, and what keeps it up to date.
///
/// ```swift
/// let member = try await ClusterMember.join(journal, at: "/var/lib/reprise-view", true)
/// async let following: Void = member.replica.run { entry, _ in hub.committed(entry.events) }
/// try await member.catchUp(logger)
/// ```
package struct ClusterMember: Sendable {
    package let journal: any ClusterJournal
    package let view: ClusterView
    package let replica: ClusterReplica
    package let log: ClusterLog
    package let accounts: Accounts
    package let barrier: ReadBarrier
    package let health: ClusterHealth
    package let leases: ClusterLeases
    package let submit: CommandSubmission
    /// Nil if the journal keeps no bases.
    package let bases: BaseKeeper?
    package let checks: ResultChecks
    private let hellos: WaitingHellos
    private let position: StateBroadcaster<Int64>
    private let number = Int64.random(in: .min ... .max)

    /// Opens the view; closes the journal if it cannot.
    ///
    /// - Parameters:
    ///   - journal: the cluster's; closed by ``close()``.
    ///   - path: the view's folder.
    ///   - name: of this gateway, for people.
    ///   - implicitChannels: see ``Accounts/open(at:implicitChannels:clock:heads:)``.
    ///   - configuration: the view's other settings.
    ///   - schedule: when bases are made.
    ///   - clock: see ``ClusterReplica``.
    ///   - logger: receives what becomes of bases.
    /// - Returns: the member; it follows nothing before ``replica`` runs.
    /// - Throws: as ``ClusterView/open(at:epoch:of:_:)``; `.unavailable` if nobody says for
    ///   ``ClusterLimits/leaderless`` where the journal begins, or no base reaches its beginning;
    ///   `.corrupt` if the journal was restored or the base is damaged.
    package static func join(
        _ journal: any ClusterJournal, at path: String, name: String = "", implicitChannels: Bool,
        _ configuration: ClusterView.Configuration = ClusterView.Configuration(),
        schedule: BaseKeeper.Schedule = BaseKeeper.Schedule(),
        clock: any Timekeeper = SystemTimekeeper(), logger: Logger = Logger(label: "reprise.server")
    ) async throws -> ClusterMember {
        do {
            var configuration = configuration
            configuration.implicitChannels = implicitChannels
            let view = try await openView(of: journal, at: path, configuration, clock, logger)
            logger.notice(
                "the view is open",
                metadata: [
                    "applied": "\(view.position.sequence)", "sqlite": "\(ResultChecks.sqlite)",
                ])
            return ClusterMember(journal, view, path, name, schedule, clock, logger)
        } catch {
            await journal.close()
            throw error
        }
    }

    /// Opens the view; one that stands before the journal's first entry is made anew.
    private static func openView(
        of journal: any ClusterJournal, at path: String,
        _ configuration: ClusterView.Configuration, _ clock: any Timekeeper, _ logger: Logger
    ) async throws -> ClusterView {
        let open = {
            try ClusterView.open(
                at: path, epoch: journal.epoch, of: journal.cluster, configuration)
        }
        let view = try open()
        let first: Int64
        do {
            first = try await beginning(of: journal, clock, logger)
        } catch {
            await view.close()
            throw error
        }
        let stood = view.position.sequence
        guard first > stood + 1 else { return view }
        await view.close()
        guard let bases = journal.bases else { throw BaseKeeper.isMissing(first) }
        let base = try await bases.install(in: path, of: journal, reaching: first)
        logger.notice(
            "the view was made anew from the journal's base",
            metadata: ["before": "\(stood)", "now": "\(base.sequence)"])
        return try open()
    }

    /// The journal's first entry.
    ///
    /// Without a leader nobody says; one may be there soon.
    private static func beginning(
        of journal: any ClusterJournal, _ clock: any Timekeeper, _ logger: Logger
    ) async throws -> Int64 {
        let end = clock.uptime() + ClusterLimits.leaderless
        while true {
            do {
                let status = try await journal.status()
                if !status.isLed {
                    logger.notice(
                        "not ready: no node of NATS leads the journal; a majority must be there")
                }
                return status.first
            } catch let error as RepriseError
                where error.code != .corrupt && clock.uptime() < end
            {
                logger.notice(
                    "not ready: the journal has not reported where it begins",
                    metadata: ["error": "\(error)"])
                try await clock.sleep(for: .seconds(1))
            }
        }
    }

    private init(
        _ journal: any ClusterJournal, _ view: ClusterView, _ path: String, _ name: String,
        _ schedule: BaseKeeper.Schedule, _ clock: any Timekeeper, _ logger: Logger
    ) {
        let replica = ClusterReplica(view: view, journal: journal, name: name, clock: clock)
        let health = ClusterHealth(clock: clock)
        self.health = health
        let skipped = SkippedCommands(journal)
        let submitTimed: TimedSubmission = { commands, taken in
            try health.admit(commands)
            if !skipped.isEmpty {
                for command in commands {
                    guard try await !skipped.has(command) else { throw SkippedCommands.refusal }
                }
            }
            return try await replica.submit(commands, since: taken)
        }
        let submit: CommandSubmission = { try await submitTimed($0, nil) }
        self.journal = journal
        self.view = view
        self.replica = replica
        let leases = ClusterLeases(submit: submit, seen: { view.lease($0) }, clock: clock)
        self.leases = leases
        self.submit = submit
        log = ClusterLog(
            view, housekeeping: { leases.grant(of: .housekeeping) }, skipped: skipped,
            submit: submitTimed)
        accounts = Accounts(view, submit: submit)
        position = StateBroadcaster(view.position.sequence, newest: 1)
        barrier = ReadBarrier(submit: submit, applied: position)
        hellos = WaitingHellos()
        let writtenWithin = ConnectedElsewhere.Settings().writtenWithin
        checks = ResultChecks(
            name: name, in: path, present: { view.writers(within: writtenWithin) }, submit: submit,
            logger: logger)
        bases = journal.bases.map { store in
            BaseKeeper(
                view: view, store: store, leases: leases, health: health, submit: submit,
                in: path, schedule, clock: clock, logger: logger)
        }
    }

    /// Brings a device's hello into the journal.
    ///
    /// - Returns: its place; all that was acknowledged anywhere before is then applied here.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` beyond ``ClusterLimits/waitingHellos``, and
    ///   as ``CommandSubmission``.
    package func arrive(_ device: ConnectingDevice) async throws -> Generation {
        try hellos.enter()
        defer { hellos.leave() }
        let outcome = try await submit([.hello(device)]).first
        if case .refused(let error)? = outcome { throw error }
        guard case .arrived(let arrival, _)? = outcome else {
            throw RepriseError(.internal, "A hello has another outcome than its own.")
        }
        return arrival.generation
    }

    /// Returns when all that the journal has by now is applied here, or stands before an entry that
    /// cannot be applied: see ``problem``.
    ///
    /// - Throws: what ends ``ClusterReplica/run(_:)``; `CancellationError`.
    package func catchUp(_ logger: Logger) async throws {
        while true {
            do {
                try await barrier.pass()
                // Before anybody is welcomed without what they bring.
                return await raiseRules()
            } catch let error as RepriseError where error.code == .unavailable {
                try Task.checkCancellation()
                if let problem = replica.problem {
                    // It waits for an operator; so that he sees it, the server listens.
                    return logger.error("not ready", metadata: ["error": "\(problem)"])
                }
                logger.notice(
                    "not ready: the journal stores no entries, or this gateway is far behind it",
                    metadata: ["applied": "\(view.position.sequence)"])
            }
        }
    }

    /// The number of hellos that wait for the journal.
    package var waitingHellos: Int { hellos.waiting }

    /// Does the cluster's housekeeping while this gateway has the lease, until cancelled: see
    /// ``ClusterLog/trim(_:now:overrides:)``.
    ///
    /// - Parameter also: what else one gateway does for all; cancelled when the lease is lost.
    package func keepHouse(_ also: @escaping @Sendable () async -> Void) async {
        await leases.hold(.housekeeping) { _ in
            await also()
            while (try? await Task.sleep(for: .seconds(3_600))) != nil {}
        }
    }

    /// Raises the rules when the operator wants it, until cancelled.
    package func keepRules() async {
        while (try? await Task.sleep(for: .seconds(1))) != nil { await raiseRules() }
    }

    /// Raises them if this version knows those that are wanted; of several gateways' entries the
    /// first counts.
    private func raiseRules() async {
        let wanted = journal.rules
        guard wanted > view.rules, wanted <= view.newestRules else { return }
        _ = try? await submit([.rules(RaisedRules(wanted))])
    }

    /// Tells the other gateways who types here; does not block.
    package func typing(_ told: TypingBoard.Told) {
        journal.say(TypingNews(told, from: number).bytes, on: .typing)
    }

    /// Calls `body` with who types at other gateways, until cancelled.
    package func hearTyping(_ body: @Sendable (TypingBoard.Told) -> Void) async {
        for await bytes in journal.said(on: .typing) {
            guard let news = TypingNews(bytes), news.sender != number else { continue }
            body(news.told)
        }
    }

    /// Looks how full the journal is and who leads it, until cancelled.
    package func watchJournal() async { await health.watch(journal) }

    /// Tells what an entry came to to all who keep watch here; in order, does not block.
    package func applied(_ entry: AppliedEntry, isOwn: Bool) {
        position.announce(entry.sequence)
        health.applied(entry.sequence, bytes: entry.bytes)
        bases?.applied(entry, isOwn: isOwn)
        checks.applied(entry)
    }

    /// Why the balancer should not send anybody here; nil if there is no reason.
    package var problem: String? {
        if let error = replica.problem { return "\(error.message) \(error.remedy ?? "")" }
        if health.status?.isSealed == true {
            return "The journal is sealed: its data was moved out, and nothing is stored any more."
        }
        if let difference = health.status?.difference { return difference }
        if let difference = checks.problem { return difference }
        if health.isLeaderless {
            return "The journal is not reached, or has no leader."
        }
        if let difference = bases?.problem { return difference }
        if view.time.isHeld {
            return "The clocks of NATS and of the gateways differ: the journal's time stands still."
        }
        return nil
    }

    /// Closes the view and the journal; ``replica`` must have ended.
    package func close() async {
        await view.close()
        await journal.close()
    }
}

/// Counts the hellos that wait for the journal, so that a flood of them does not keep back what is
/// published.
private final class WaitingHellos: Sendable {
    private let count = Atomic<Int>(0)

    func enter() throws(RepriseError) {
        guard count.add(1, ordering: .relaxed).newValue <= ClusterLimits.waitingHellos else {
            leave()
            throw RepriseError(
                .full, "Too many devices connect at once.", remedy: "Come back in a moment.")
        }
    }

    var waiting: Int { count.load(ordering: .relaxed) }

    func leave() { count.subtract(1, ordering: .relaxed) }
}
