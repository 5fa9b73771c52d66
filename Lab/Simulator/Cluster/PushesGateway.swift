import RepriseCore
import RepriseServer
import RepriseWire

/// A gateway's part in pushes: what `Pushing` and `PushDispatcher` do in a cluster, with the
/// shipping `LeaseMachine` and `PushProgress`.
final class PushesGateway {
    /// The most pushes in flight.
    private static let concurrency = 4

    /// The holder's own, made anew from what the journal notes.
    private struct Queue {
        let number: Int
        let grant: Int64
        /// Up to where messages are looked through.
        var through: Int64
        /// All that is not ended.
        var rows: Set<PushProgress.Mark> = []
        /// Of these, in order, what is to be sent.
        var waiting: [PushProgress.Mark] = []
        var underWay = 0
        /// What was accepted and is not noted.
        var accepted: [PushProgress.Mark] = []
        var isNoting = false
        var reportAt: Duration
    }

    private unowned let gateway: SimulatedGateway
    private let pushes: SimulatedPushes
    private let lease: GatewayLease
    private var queue: Queue?
    private var isBeginning = false

    init(_ gateway: SimulatedGateway, _ pushes: SimulatedPushes) {
        self.gateway = gateway
        self.pushes = pushes
        lease = GatewayLease(.apns, of: gateway) { [unowned pushes] in pushes.isOver }
    }

    var number: Int { gateway.number }

    /// Whether it has the lease now.
    var mayPush: Bool { lease.grant != nil }

    private var pushesAgain: Bool { pushes.simulation.mutation == .clusterPushesAgain }

    private func after(_ delay: Duration, _ work: @escaping () -> Void) {
        pushes.simulation.after(delay, on: gateway.process, work)
    }

    /// It follows the journal from now on.
    func begin() {
        (queue, isBeginning) = (nil, false)
        lease.begin(jitter: pushes.jitter())
        look()
    }

    private func look() {
        guard !pushes.isOver else { return }
        after(PushLimits.slot) { [self] in
            work()
            look()
        }
    }

    private func work() {
        guard let grant = lease.grant else {
            queue = nil
            return
        }
        guard queue?.grant == grant else { return beginQueue(by: grant) }
        do {
            try scan()
            try send()
            if gateway.process.state == .running { note() }
            if gateway.process.state == .running { report() }
        } catch {
            pushes.simulation.violated(.agreement, "a view cannot be read: \(error)")
        }
    }

    /// Begins where others have come to.
    private func beginQueue(by grant: Int64) {
        queue = nil
        guard !isBeginning else { return }
        isBeginning = true
        gateway.submit([.beginPushing(.apns, grant: grant)]) { [self] result in
            isBeginning = false
            guard case .nothing? = (try? result.get())?.first, lease.grant == grant else { return }
            resume(by: grant)
        }
    }

    private func resume(by grant: Int64) {
        do {
            let found = try gateway.view.pushProgress(.apns, in: pushes.channel)
            let through = pushesAgain ? 0 : found.done.first?.through ?? 0
            queue = Queue(
                number: pushes.beginQueue(), grant: grant, through: through,
                reportAt: gateway.now + ClusterLimits.pushProgress)
            pushes.simulation.trace(gateway.process.name, "pushes from message \(through) on")
        } catch {
            pushes.simulation.violated(.agreement, "a view cannot be read: \(error)")
        }
    }

    // MARK: Its queue

    private func scan() throws {
        let head = try gateway.state(of: pushes.channel).head
        guard let through = queue?.through, head > through else { return }
        let found = try gateway.view.pushProgress(.apns, in: pushes.channel).marks
        let pushed = Set(pushesAgain ? [] : found)
        for seq in through + 1...head {
            for (user, device) in pushes.devices {
                let push = PushProgress.Mark(
                    user: user, device: device, channel: pushes.channel, seq: seq)
                guard !pushed.contains(push) else { continue }
                queue?.rows.insert(push)
                queue?.waiting.append(push)
            }
        }
        queue?.through = head
    }

    /// How far people have read, as far as it is applied here.
    private func positions() throws -> [UserID: Int64] {
        let all = try gateway.view.positions(
            of: pushes.channel, first: nil, limit: WireLimits.positions)
        return Dictionary(uniqueKeysWithValues: all.map { ($0.user, $0.read) })
    }

    private func send() throws {
        guard queue?.waiting.isEmpty == false else { return }
        let read = try positions()
        while let queue, queue.underWay < Self.concurrency, let push = queue.waiting.first {
            guard read[push.user] ?? 0 < push.seq else {
                self.queue?.waiting.removeFirst()
                self.queue?.rows.remove(push)
                continue
            }
            guard pushes.survives("sending a push", of: gateway),
                gateway.process.state == .running, lease.grant == queue.grant
            else { return }
            self.queue?.waiting.removeFirst()
            self.queue?.underWay += 1
            pushes.send(push, of: queue.number, by: gateway) { [self] isAccepted in
                sent(push, of: queue.number, isAccepted)
            }
        }
    }

    private func sent(_ push: PushProgress.Mark, of number: Int, _ isAccepted: Bool) {
        guard queue?.number == number else { return }
        queue?.underWay -= 1
        if isAccepted {
            queue?.accepted.append(push)
            return
        }
        after(PushLimits.afterFailure) { [self] in
            if queue?.number == number { queue?.waiting.append(push) }
        }
    }

    /// Reports what was pushed, before its rows end here.
    private func note() {
        guard let queue, !queue.isNoting, !queue.accepted.isEmpty,
            pushes.survives("noting pushes", of: gateway)
        else { return }
        var progress = PushProgress(.apns, by: queue.grant)
        progress.marks = queue.accepted
        self.queue?.isNoting = true
        gateway.submit([.pushed(progress)]) { [self] result in
            guard self.queue?.number == queue.number else { return }
            self.queue?.isNoting = false
            guard case .nothing? = (try? result.get())?.first else { return }
            self.queue?.rows.subtract(progress.marks)
            self.queue?.accepted.removeFirst(progress.marks.count)
        }
    }

    /// Reports up to where nothing waits.
    private func report() {
        guard let queue, gateway.now >= queue.reportAt else { return }
        self.queue?.reportAt = gateway.now + ClusterLimits.pushProgress
        let first = queue.rows.map(\.seq).min()
        let through = first.map { $0 - 1 } ?? queue.through
        guard through > 0 else { return }
        var progress = PushProgress(.apns, by: queue.grant)
        progress.done = [.init(channel: pushes.channel, through: through)]
        gateway.submit([.pushed(progress)]) { _ in }
    }
}
