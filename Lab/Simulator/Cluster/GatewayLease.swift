import RepriseCore
import RepriseServer

/// A gateway's part in a lease: what `ClusterLeases` does, by the shipping `LeaseMachine`.
final class GatewayLease {
    private unowned let gateway: SimulatedGateway
    private let role: LeaseRole
    private let isOver: () -> Bool
    private var machine = LeaseMachine(now: .zero, jitter: 0)
    private var isAsking = false

    /// Makes it; once `isOver` says so, nobody asks for it any more.
    init(_ role: LeaseRole, of gateway: SimulatedGateway, isOver: @escaping () -> Bool) {
        self.role = role
        self.gateway = gateway
        self.isOver = isOver
    }

    /// The grant by which it may act now.
    var grant: Int64? {
        gateway.process.state == .dead ? nil : machine.grant(now: gateway.now)
    }

    /// The gateway follows the journal from now on.
    func begin(jitter: Double) {
        machine = LeaseMachine(now: gateway.now, jitter: jitter)
        isAsking = false
        look()
    }

    private func look() {
        guard !isOver() else { return }
        gateway.simulation.after(ClusterLimits.leaseLook, on: gateway.process) { [self] in
            if !isAsking {
                switch machine.next(gateway.view.lease(role), now: gateway.now) {
                case .claim: ask(.claim)
                case .renew(let grant): ask(.renew(grant: grant))
                case nil: break
                }
            }
            look()
        }
    }

    private func ask(_ operation: LeaseRequest.Operation) {
        isAsking = true
        let asked = gateway.now
        // Another one in each life.
        let holder = Int64(gateway.process.life << 8 | gateway.number)
        gateway.submit([.lease(LeaseRequest(role, by: holder, operation))]) { [self] result in
            isAsking = false
            guard case .leased(let grant)? = (try? result.get())?.first else { return }
            machine.answered(grant, asked: asked)
        }
    }
}
