package import Logging
package import RepriseCore
package import RepriseWire
import Synchronization

/// Pushes stored messages by one service: performs the decisions of ``PushMachine``.
///
/// ```swift
/// let dispatcher = PushDispatcher(
///     provider, queue: accounts.pushQueue, unread: unread, log: log, clock: clock,
///     logger: logger)
/// async let pushing: Void = dispatcher.run()
/// dispatcher.committed(events)  // from the committer
/// await dispatcher.stop()
/// ```
package actor PushDispatcher {
    /// Events from other threads since the machine last took them.
    private struct Mail {
        var stored: [ChannelName: Int64] = [:]
        var hasOverflowed = false
        var othersQueued = false
    }

    private let provider: any PushProvider
    /// By which this gateway pushes for its cluster; nil if the server is alone.
    private let lease: PushLease?
    private let queue: PushQueue
    private let scanner: FanOutScanner
    private let maker: PushMaker
    private let unread: UnreadCounts
    private let metrics: ServerMetrics?
    private let clock: any Timekeeper
    private let logger: Logger
    private let mail = Mutex(Mail())
    private let shown = Mutex((queued: 0, down: 0))
    private let (signals, signal) = AsyncStream<Void>.makeStream(
        bufferingPolicy: .bufferingNewest(1))

    private var machine: PushMachine
    private var troubles = PushTroubles()
    private var calendar: WallClockGuard
    /// The wall clock at the last load.
    private var loadedAt = WallTime(milliseconds: 0)
    /// Pushes in memory, by row.
    private var pushes: [Int64: (due: DuePush, kind: PushHint.Kind, isQuiet: Bool)] = [:]
    private var settlements = PushSettlements()
    /// Addresses that have just become invalid, until no older push is in memory.
    private var died: [PushAddress: Duration] = [:]
    private var isStopping = false
    private var timer: (moment: Duration, task: Task<Void, Never>)?

    /// Makes a dispatcher; ``run()`` follows.
    ///
    /// - Parameters:
    ///   - provider: the service.
    ///   - queue: the waiting pushes.
    ///   - lease: by which this gateway pushes for its cluster; nil if the server is alone.
    ///   - unread: the counts for badges.
    ///   - log: the messages.
    ///   - metrics: the counters.
    ///   - connected: which devices are, and get their grace period; nil if that is not known, and
    ///     each device gets it.
    ///   - clock: the time.
    ///   - logger: receives services and reasons.
    package init(
        _ provider: any PushProvider, queue: PushQueue, lease: PushLease? = nil,
        unread: UnreadCounts, log: any MessageLog, metrics: ServerMetrics? = nil,
        connected: ConnectedCheck? = nil, clock: any Timekeeper, logger: Logger
    ) {
        self.provider = provider
        self.queue = queue
        self.lease = lease
        self.unread = unread
        self.metrics = metrics
        self.clock = clock
        self.logger = logger
        machine = PushMachine(
            concurrency: provider.concurrency, scansEarly: connected != nil)
        calendar = WallClockGuard(stored: nil, now: clock.clockReading())
        scanner = FanOutScanner(
            provider.service, store: queue.scans, log: log, clock: clock,
            connected: connected)
        maker = PushMaker(unread: unread, log: log, clock: clock)
    }

    // MARK: Events from outside

    /// Messages are durable; does not block.
    package nonisolated func committed(_ events: [ServerFrame.Event]) {
        mail.withLock { mail in
            for event in events {
                if mail.stored.count >= PushLimits.notedSlots, mail.stored[event.channel] == nil {
                    mail.hasOverflowed = true
                } else {
                    mail.stored[event.channel] = max(mail.stored[event.channel] ?? 0, event.seq)
                }
            }
        }
        signal.yield()
    }

    /// Messages may be durable that ``committed(_:)`` does not name; does not block.
    package nonisolated func storingFailed() {
        mail.withLock { $0.hasOverflowed = true }
        signal.yield()
    }

    /// Another part has queued pushes; does not block.
    package nonisolated func othersQueued() {
        mail.withLock { $0.othersQueued = true }
        signal.yield()
    }

    /// Ends ``run()``: pushes in flight get a moment to be answered.
    package func stop() {
        isStopping = true
        signal.yield()
    }

    /// The number of waiting pushes, and whether the provider is considered down.
    package nonisolated var figures: (queued: Int, down: Int) { shown.withLock { $0 } }

    // MARK: The loop

    /// Pushes until ``stop()``; called once.
    package func run() async {
        await begin()
        await withDiscardingTaskGroup { group in
            for await _ in signals {
                if isStopping { break }
                step(&group)
            }
            await finish()
            group.cancelAll()
        }
        timer?.task.cancel()
        await settleRest()
    }

    private func begin() async {
        while !isStopping {
            do {
                try await lease?.begin()
                if lease != nil { try await queue.resume(provider.service) }
                try await scanner.begin()
                try await queue.hurry(provider.service, now: clock.wall())
                let alerts = try await queue.alertCount(provider.service)
                machine.started(queued: alerts.all, delayed: alerts.delayed)
                break
            } catch {
                failed("begin", error)
                try? await clock.sleep(for: PushLimits.afterFailure)
            }
        }
        signal.yield()
    }

    private func step(_ group: inout DiscardingTaskGroup) {
        let now = clock.uptime()
        let mail = mail.withLock { mail in
            defer { mail = Mail() }
            return mail
        }
        for (channel, seq) in mail.stored { machine.stored(seq, in: channel, now: now) }
        if mail.hasOverflowed { machine.overflowed() }
        if mail.othersQueued {
            machine.othersQueued(dueAfter: PushLimits.dismissAfter, now: now)
        }
        for action in machine.next(now: now) { perform(action, &group) }
        let settles = settle(&group, now)
        arm([machine.wake(now: now), settles].compactMap(\.self).min())
        let figures = (machine.queued, machine.downCount)
        shown.withLock { $0 = figures }
    }

    private func perform(_ action: PushMachine.Action, _ group: inout DiscardingTaskGroup) {
        switch action {
        case .recover: group.addTask { await self.recover() }
        case .scan(let channel, let through):
            group.addTask { await self.scan(channel, through: through) }
        case .scanEarly(let channel, let through):
            group.addTask { await self.scanEarly(channel, through: through) }
        case .load(let limit): group.addTask { await self.load(limit) }
        case .send(let number):
            guard let push = pushes[number] else { preconditionFailure("a push is lost") }
            group.addTask { await self.send(push.due, push.kind, isQuiet: push.isQuiet) }
        case .release(let numbers): for number in numbers { pushes[number] = nil }
        case .postpone(let number, let wait, let why):
            guard let push = pushes[number] else { preconditionFailure("a push is lost") }
            tell(
                "A push has its outcome.", push.due.entry,
                ["outcome": "waited", "reason": why.reason])
            note(push.due, .again(after: wait, isAttempt: false), isDelayed: true)
        }
    }

    /// Arms one timer, for the earliest deadline.
    private func arm(_ moment: Duration?) {
        guard moment != timer?.moment else { return }
        timer?.task.cancel()
        timer = moment.map { moment in
            let task = Task { [clock, signal] in
                do { try await clock.sleep(until: moment) } catch { return }
                signal.yield()
            }
            return (moment, task)
        }
    }

    private func finish() async {
        let deadline = ContinuousClock.now + PushLimits.shutdown
        while machine.underWay > 0, !Task.isCancelled, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    private func failed(_ what: String, _ error: any Error) {
        logger.warning(
            "push: \(what) failed",
            metadata: ["service": "\(provider.service.rawValue)", "error": "\(error)"])
    }

    private func mayExpire() -> Bool {
        calendar.observe(clock.clockReading())
        return calendar.mayExpire
    }

    // MARK: Fan-out scans

    private func recover() async {
        var after: ChannelName?
        do {
            while !isStopping, let page = try await scanner.behind(after: after) {
                for (name, head) in page.heads {
                    machine.stored(head, in: name, now: clock.uptime())
                }
                after = page.last
            }
            machine.recovered(succeeded: true, now: clock.uptime())
        } catch {
            failed("looking for what was not pushed", error)
            machine.recovered(succeeded: false, now: clock.uptime())
        }
        signal.yield()
    }

    private func scan(_ channel: ChannelName, through: Int64) async {
        do {
            let step = try await scanner.step(channel, through: through, mayExpire: mayExpire())
            machine.scanned(channel, added: step.added, through: step.through)
            scanned(channel, step)
        } catch {
            failed("a scan", error)
            machine.scanFailed(channel, now: clock.uptime())
        }
        signal.yield()
    }

    private func scanEarly(_ channel: ChannelName, through: Int64) async {
        do {
            let step = try await scanner.earlyStep(
                channel, through: through, mayExpire: mayExpire())
            machine.walkedEarly(channel, added: step.added, through: step.through)
            if step.added > 0 { scanned(channel, step) }
        } catch {
            failed("an early scan", error)
            machine.walkedEarly(channel, added: 0, through: .max)
        }
        signal.yield()
    }

    private func scanned(_ channel: ChannelName, _ step: FanOutScanner.Step) {
        logger.tell(
            .debug, "A channel was scanned for pushes.",
            [
                "service": provider.service.rawValue, "channel": channel.text,
                "queued": "\(step.added)", "through": step.through.map { "\($0)" },
            ])
    }

    // MARK: The queue

    private func load(_ limit: Int) async {
        do {
            let wall = clock.wall()
            if wall < loadedAt { try await queue.hurry(provider.service, now: wall) }
            loadedAt = wall
            let page = try await queue.due(
                provider.service, now: wall, limit: limit, except: machine.inFlight)
            if !page.broken.isEmpty {
                logger.error("push: unreadable rows are removed from the queue")
                let changes = try await queue.remove(page.broken)
                machine.settled(
                    page.broken, removed: changes.removed, delayed: changes.delayed, next: nil)
            }
            let fresh = page.pushes.filter { !machine.holds($0.entry.number) }
            await unread.prepare(Set(fresh.map(\.entry.user)))
            take(page, wall, isAll: page.pushes.count + page.broken.count < limit)
        } catch {
            failed("reading the queue", error)
            machine.loadFailed(now: clock.uptime())
        }
        signal.yield()
    }

    private func take(_ page: PushQueue.Page, _ wall: WallTime, isAll: Bool) {
        let mayExpire = mayExpire()
        var rows: [PushMachine.Row] = []
        for due in page.pushes where !machine.holds(due.entry.number) {
            switch PushRules.disposition(due, now: wall, mayExpire: mayExpire) {
            case .send(let kind, let isQuiet):
                pushes[due.entry.number] = (due, kind, isQuiet)
                rows.append(
                    .init(
                        number: due.entry.number, target: due.entry.target,
                        partition: due.address?.partition ?? ""))
                tell(
                    "A push is decided.", due.entry,
                    ["decision": isQuiet ? "\(kind.rawValue) quiet" : kind.rawValue])
            case .drop(let why):
                machine.dropped(due.entry.number)
                tell(
                    "A push is decided.", due.entry,
                    ["decision": "none", "reason": why.rawValue])
                note(due, .dropped(why))
            }
        }
        // A wall clock that was set back must not prolong a wait.
        let next = page.next.map {
            clock.uptime()
                + min(max(wall.duration(to: $0), .zero), PushLimits.retryAfterLongest)
        }
        machine.loaded(rows, isAll: isAll, next: next, now: clock.uptime())
    }

    private func send(_ due: DuePush, _ kind: PushHint.Kind, isQuiet: Bool) async {
        if let address = due.address, let until = died[address], until > clock.uptime() {
            // The row was read before its address became invalid; it is read again once that is
            // recorded.
            return notSent(due, .again(after: PushLimits.waitsInMemory * 2, isAttempt: false))
        }
        do {
            switch try await maker.push(due, as: kind, isQuiet: isQuiet) {
            case .push where lease?.isCurrent == false:
                notSent(due, reason: "Another gateway pushes now.")
            case .push(let push):
                let began = clock.uptime()
                ended(due, await provider.send(push), took: clock.uptime() - began)
            case .gone: notSent(due, .dropped(.gone))
            }
        } catch {
            failed("making a push", error)
            notSent(due, reason: "The store failed.")
        }
    }

    private func ended(_ due: DuePush, _ outcome: PushOutcome, took: Duration) {
        let now = clock.uptime()
        let partition = due.address?.partition ?? ""
        let acknowledgement = machine.answered(
            outcome, partition: partition, took: took, attempts: due.entry.attempts, now: now,
            jitter: .random(in: 0..<1))
        tell(outcome, partition: partition, now)
        if case .dead = acknowledgement, let address = due.address {
            if died.count >= PushLimits.queued { died = died.filter { $0.value > now } }
            died[address] = now + PushLimits.waitsInMemory * 2
        }
        ended(due, acknowledgement, outcome.reason, isDelayed: true)
    }

    /// The provider was not asked; nil sends the push later.
    private func notSent(
        _ due: DuePush, _ acknowledgement: PushMachine.Acknowledgement? = nil,
        reason: String? = nil
    ) {
        let later = machine.notSent(
            partition: due.address?.partition ?? "", attempts: due.entry.attempts,
            jitter: .random(in: 0..<1))
        ended(due, acknowledgement ?? later, reason)
    }

    private func ended(
        _ due: DuePush, _ acknowledgement: PushMachine.Acknowledgement, _ reason: String?,
        isDelayed: Bool = false
    ) {
        tell(
            "A push has its outcome.", due.entry,
            ["outcome": acknowledgement.outcome, "reason": reason])
        note(due, acknowledgement, isDelayed: isDelayed)
        signal.yield()
    }

    /// Logs a decision about a push, or its outcome: no address, no text, no key.
    private func tell(
        _ what: Logger.Message, _ entry: PushEntry, _ values: @autoclosure () -> [String: String?]
    ) {
        guard logger.logLevel <= .debug else { return }
        let names: [String: String?] = [
            "service": provider.service.rawValue, "message": entry.message?.text,
            "channel": entry.channel.text, "seq": "\(entry.seq)", "user": entry.user.text,
            "device": entry.device.text, "attempt": "\(entry.attempts + 1)",
        ]
        logger.tell(.debug, what, names.merging(values()) { $1 })
    }

    /// Logs neither addresses nor texts nor keys; an unchanged failure once per
    /// ``PushLimits/troubleTold``.
    private func tell(_ outcome: PushOutcome, partition: String, _ now: Duration) {
        guard let news = troubles.ended(outcome, partition: partition, now: now) else { return }
        let values: [String: String?] = [
            "service": provider.service.rawValue, "reason": news.reason,
        ]
        switch news.kind {
        case .refused: logger.tell(.info, "a push was refused", values)
        case .unavailable:
            logger.tell(.warning, "pushes wait: the provider does not answer", values)
        case .unauthorized:
            logger.tell(
                .error,
                "pushes wait: the provider refuses the server's token; check key, key id, team and topic",
                values)
        case .over: logger.tell(.info, "the provider answers again", values)
        }
    }

    // MARK: Dispositions

    /// Notes what came of a push; if it is sent again, whether it is delayed from outside.
    private func note(
        _ due: DuePush, _ acknowledgement: PushMachine.Acknowledgement, isDelayed: Bool = false
    ) {
        metrics?.pushed(provider.service, acknowledgement)
        let settled = PushSettled(
            entry: due.entry, address: due.address, acknowledgement: acknowledgement,
            isDelayed: isDelayed)
        settlements.add(settled, now: clock.uptime())
    }

    /// - Returns: when to call it again.
    private func settle(_ group: inout DiscardingTaskGroup, _ now: Duration) -> Duration? {
        switch settlements.next(isIdle: machine.underWay == 0, now: now) {
        case .wait(let moment): return moment
        case .write(let batch):
            group.addTask { await self.settle(batch) }
            return nil
        }
    }

    private func settle(_ batch: [PushSettled]) async {
        do {
            try await lease?.report(batch)
            let changes = try await queue.settle(
                batch, of: provider.service, now: clock.wall())
            settled(batch, changes)
        } catch {
            failed("writing down what became of pushes", error)
            settlements.writeFailed(batch, now: clock.uptime())
            try? await clock.sleep(for: PushLimits.afterFailure)
        }
        settlements.written()
        signal.yield()
    }

    private func settled(_ batch: [PushSettled], _ changes: PushQueue.Changes) {
        var soonest: Duration?
        for one in batch {
            pushes[one.entry.number] = nil
            guard case .again(let wait, _) = one.acknowledgement else { continue }
            soonest = min(soonest ?? wait, wait)
        }
        for entry in changes.displaced {
            let outcome = PushMachine.Acknowledgement.dropped(.displaced)
            metrics?.pushed(provider.service, outcome)
            tell("A push has its outcome.", entry, ["outcome": outcome.outcome])
        }
        let now = clock.uptime()
        machine.settled(
            batch.map(\.entry.number), removed: changes.removed, delayed: changes.delayed,
            next: soonest.map { now + $0 })
    }

    /// At the end, records the answers if the disk permits; otherwise their pushes are sent once
    /// more.
    private func settleRest() async {
        let rest = settlements.takeAll()
        guard !rest.isEmpty else { return }
        try? await lease?.report(rest)
        guard
            let changes = try? await queue.settle(rest, of: provider.service, now: clock.wall())
        else { return }
        settled(rest, changes)
    }
}

extension PushMachine.Postponement {
    /// Its words in the log.
    fileprivate var reason: String {
        switch self {
        case .down: "The push service is down."
        case .slow: "The push service is slow, and its places are taken."
        case .rate: "The device gets no more for now."
        }
    }
}
