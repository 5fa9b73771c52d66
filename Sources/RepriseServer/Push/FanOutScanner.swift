import RepriseCore
import RepriseWire

/// Performs fan-out scans for one service: messages of the log on one side, members on the other.
actor FanOutScanner {
    /// A fan-out scan in flight, with its messages.
    private struct Scan {
        var scan: FanOutScan
        var target: Int64
        var candidates: [PushCandidate]
    }

    /// The result of one step.
    struct Step: Sendable {
        /// The number of queued pushes.
        var added: Int
        /// The message up to which the scan is done; nil if it goes on.
        var through: Int64?
    }

    private let service: PushService
    private let store: FanOutScans
    private let log: any MessageLog
    private let clock: any Timekeeper
    /// Nil where that is not known.
    private let connected: ConnectedCheck?
    private var scans: [ChannelName: Scan] = [:]
    /// The early scan in flight.
    private var early: Scan?

    init(
        _ service: PushService, store: FanOutScans, log: any MessageLog, clock: any Timekeeper,
        connected: ConnectedCheck?
    ) {
        self.service = service
        self.store = store
        self.log = log
        self.clock = clock
        self.connected = connected
    }

    /// Starts the service: messages stored before are not pushed.
    func begin() async throws {
        try await store.begin(service) { [log] in try await log.state(of: $0).head }
    }

    /// One page of channels with messages that were stored while no server ran, or before they
    /// were noted.
    ///
    /// - Returns: each such channel's head, and the page's last channel; nil after the last page.
    func behind(
        after: ChannelName?
    ) async throws -> (heads: [(ChannelName, Int64)], last: ChannelName)? {
        let names = try await store.channels(after: after)
        guard let last = names.last else { return nil }
        var heads: [(ChannelName, Int64)] = []
        for name in names {
            let head = try await log.state(of: name).head
            guard var scan = try await store.scan(service, in: name) else { continue }
            if scan.through > head {
                // A restored log assigns sequences again, and messages with them are new.
                scan = FanOutScan(channel: name, through: head, target: nil, user: "")
                try await store.save(scan, service)
            }
            if scan.through < head { heads.append((name, head)) }
        }
        return (heads, last)
    }

    /// Queues pushes for the next members of a channel; a failed step begins the scan again.
    ///
    /// - Parameters:
    ///   - channel: the channel; not again before its last step has ended.
    ///   - through: the message up to which the scan goes.
    ///   - mayExpire: whether the wall clock is trusted.
    /// - Returns: the result.
    /// - Throws: ``RepriseCore/RepriseError``.
    func step(
        _ channel: ChannelName, through: Int64, mayExpire: Bool
    ) async throws -> Step {
        // It began behind an older scan, and queues nothing that this one has queued.
        if early?.scan.channel == channel { early = nil }
        do {
            guard var scan = try await scan(of: channel, through, mayExpire) else {
                return Step(added: 0, through: through)
            }
            let added = try await store.step(
                &scan.scan, service, to: scan.target, scan.candidates, now: clock.wall())
            let isDone = scan.scan.target == nil
            scans[channel] = isDone ? nil : scan
            return Step(added: added, through: isDone ? scan.target : nil)
        } catch {
            scans[channel] = nil
            throw error
        }
    }

    /// Queues pushes for the next members' devices that are not connected; as
    /// ``step(_:through:mayExpire:)``, which follows.
    ///
    /// Done at once where more than ``PushLimits/messagesPerScan`` messages are to be scanned. One
    /// that has begun goes on to its own target.
    func earlyStep(
        _ channel: ChannelName, through: Int64, mayExpire: Bool
    ) async throws -> Step {
        let done = Step(added: 0, through: through)
        guard let connected else { return done }
        if early?.scan.channel != channel {
            early = nil
            guard let scan = try await store.scan(service, in: channel), scan.target == nil,
                through - scan.through <= PushLimits.messagesPerScan,
                let begun = try await page(of: scan, through, mayExpire), begun.target >= through
            else { return done }
            early = begun
        }
        guard var scan = early else { return done }
        do {
            let step = try await store.early(
                service, in: channel, after: scan.scan.user, to: scan.target, scan.candidates,
                now: clock.wall(), connected: connected)
            scan.scan.user = step.last ?? ""
            early = step.last == nil ? nil : scan
            return Step(added: step.added, through: step.last == nil ? scan.target : nil)
        } catch {
            early = nil
            throw error
        }
    }

    /// A channel's scan with its messages; nil without members or messages.
    private func scan(
        of channel: ChannelName, _ through: Int64, _ mayExpire: Bool
    ) async throws -> Scan? {
        if let scan = scans[channel] { return scan }
        guard let scan = try await store.scan(service, in: channel) else { return nil }
        return try await page(of: scan, through, mayExpire)
    }

    private func page(
        of scan: FanOutScan, _ through: Int64, _ mayExpire: Bool
    ) async throws -> Scan? {
        guard let missing = SequenceRange(after: scan.through, through: scan.target ?? through)
        else { return nil }
        let page = try await log.page(
            of: scan.channel, missing: [missing], limit: PushLimits.messagesPerScan,
            byteLimit: PushLimits.messagesPerScan * WireLimits.bodyBytes)
        let target = max(scan.through, min(page.through, missing.through))
        guard target > scan.through else { return nil }
        let now = clock.wall()
        var candidates: [PushCandidate] = []
        for event in page.events
        where event.seq > scan.through && event.change == nil && !event.isDeleted {
            guard let content = PushContent(event.body) else { continue }
            let expires = event.time.advanced(by: content.life)
            if expires <= now, mayExpire { continue }
            candidates.append(
                PushCandidate(
                    seq: event.seq, id: event.id, from: event.from, expires: expires,
                    mentions: Mentions(in: event.body)))
        }
        return Scan(scan: scan, target: target, candidates: candidates)
    }
}
