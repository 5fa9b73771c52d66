import RepriseCore
import RepriseServer
import RepriseWire

/// The gateways of a cluster, of which one at a time does the housekeeping, by the shipping
/// `LeaseMachine`.
///
/// Nothing is so old that it has to go; that somebody asks for it is what matters. No two act at
/// once, and the journal takes it from the holder of the lease alone.
final class Keepers {
    /// A gateway's part in it: what `ClusterLeases` does.
    final class Keeper {
        private unowned let keepers: Keepers
        private unowned let gateway: SimulatedGateway
        private var machine = LeaseMachine(now: .zero, jitter: 0)
        private var isAsking = false
        private var isActing = false
        /// Wrong by a few seconds, as calendars are; who is right does not look at it.
        private let calendar: SimulatedClock

        init(_ keepers: Keepers, _ gateway: SimulatedGateway) {
            self.keepers = keepers
            self.gateway = gateway
            calendar = SimulatedClock(gateway.simulation)
            var random = gateway.simulation.random("calendar of keeper \(gateway.number)")
            calendar.jump(by: Duration.seconds(10) * (random.fraction() - 0.5))
        }

        /// The grant by which it may act now.
        var grant: Int64? {
            guard gateway.process.state != .dead else { return nil }
            guard gateway.simulation.mutation == .clusterLeaseByCalendar else {
                return machine.grant(now: gateway.now)
            }
            let own = Keepers.holder(gateway.number, life: gateway.process.life)
            guard let lease = gateway.view.lease(.housekeeping), lease.holder == own,
                calendar.wall() < lease.expires
            else { return nil }
            return lease.grant
        }

        func begin() {
            machine = LeaseMachine(now: gateway.now, jitter: keepers.random.fraction())
            (isAsking, isActing) = (false, false)
            look()
        }

        private func look() {
            guard !keepers.isOver else { return }
            gateway.simulation.after(ClusterLimits.leaseLook, on: gateway.process) { [self] in
                if !isAsking {
                    switch machine.next(gateway.view.lease(.housekeeping), now: gateway.now) {
                    case .claim: ask(.claim)
                    case .renew(let grant): ask(.renew(grant: grant))
                    case nil: break
                    }
                }
                if let grant, !isActing { act(by: grant) }
                look()
            }
        }

        private func ask(_ operation: LeaseRequest.Operation) {
            isAsking = true
            if keepers.random.chance(0.08) { keepers.freeze(gateway.process) }
            let (asked, life) = (gateway.now, gateway.process.life)
            let request = LeaseRequest(
                .housekeeping, by: Keepers.holder(gateway.number, life: life), operation)
            gateway.submit([.lease(request)]) { [self] result in
                guard life == gateway.process.life else { return }
                isAsking = false
                guard case .leased(let grant)? = (try? result.get())?.first else { return }
                let isLate = gateway.simulation.mutation == .clusterLeaseFromAnswer
                machine.answered(grant, asked: isLate ? gateway.now : asked)
            }
        }

        /// Looks what is to go, which takes a while, and asks for it.
        private func act(by grant: Int64) {
            isActing = true
            keepers.acts(gateway.number)
            let simulation = gateway.simulation
            let length = keepers.random.spread(.milliseconds(20), .seconds(3))
            simulation.after(length, on: gateway.process) { [self] in
                isActing = false
                let isFenced = simulation.mutation != .clusterUnfencedHolder
                let channel = keepers.channels[keepers.random.index(keepers.channels.count)]
                gateway.submit([.trim(channel, through: 0, grant: isFenced ? grant : nil)]) { _ in }
            }
        }
    }

    /// Another one in each life.
    private static func holder(_ gateway: Int, life: Int) -> Int64 { Int64(life << 8 | gateway) }

    static func gateway(of holder: Int64) -> Int { Int(holder & 0xff) }

    let channels: [ChannelName]
    private let simulation: Simulation
    fileprivate var random: SeededRandom
    fileprivate private(set) var isOver = false
    private var keepers: [Keeper] = []

    init(_ simulation: Simulation, _ gateways: [SimulatedGateway], _ channels: [ChannelName]) {
        self.simulation = simulation
        self.channels = channels
        random = simulation.random("keepers")
        keepers = gateways.map { Keeper(self, $0) }
        for (gateway, keeper) in zip(gateways, keepers) { gateway.keeper = keeper }
    }

    /// Nobody looks any more, so that the journal comes to rest.
    func end() { isOver = true }

    /// Freezes a gateway while its request, or the answer, is on its way.
    fileprivate func freeze(_ process: SimulatedProcess) {
        let (length, life) = (random.spread(.seconds(5), .seconds(40)), process.life)
        simulation.after(random.spread(.milliseconds(1), .milliseconds(30))) { [self] in
            guard !isOver, process.state == .running, process.life == life else { return }
            simulation.met(.gatewayStops)
            process.suspend()
            simulation.after(length) { if process.life == life { process.resume() } }
        }
    }

    fileprivate func acts(_ number: Int) {
        simulation.trace("gateway-\(number)", "does its housekeeping")
        let others = keepers.indices.filter { $0 != number && keepers[$0].grant != nil }
        guard let other = others.first else { return }
        simulation.violated(.once, "gateways \(number) and \(other) do the housekeeping at once")
    }
}
