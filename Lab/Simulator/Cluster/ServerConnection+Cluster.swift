import RepriseCore
import RepriseServer
import RepriseWire

/// A hello in a cluster: its place in the journal orders it among those of its device.
extension ServerConnection {
    func sayHello(of device: ConnectingDevice, by gateway: SimulatedGateway) {
        let life = life
        gateway.submit([.hello(device)]) { [life, id] result in
            if case .arrived(let arrival, _)? = (try? result.get())?.first {
                life.server.observer(.arrived(arrival, connection: id))
            }
            life.post(.arrived(id, result.flatMap(Self.generation)))
        }
        guard life.mutation == .clusterWelcomesEarly else { return }
        perform(machine.takeOver(from: 0, now: life.now), for: nil)
    }

    private static func generation(
        of outcomes: [CommandOutcome]
    ) -> Result<Generation, RepriseError> {
        guard case .arrived(let arrival, _)? = outcomes.first else {
            return .failure(RepriseError(.internal, "A hello has another outcome than its own."))
        }
        return .success(arrival.generation)
    }

    func arrivedLater(_ answer: Result<Generation, RepriseError>) {
        guard !hasEnded, let entered else { return }
        switch answer {
        case .failure(let error):
            let code: CloseCode = error.code == .full ? .overloaded : .unavailable
            perform(machine.violated(code, error.message, now: life.now))
        case .success(var generation):
            guard case .newest(let older) = life.roster.arrived(id, as: entered, generation) else {
                return replaced()
            }
            // Only here: the roster would end a connection that seems older than its own hello.
            if life.mutation == .clusterHellosShareGeneration { generation.place = 0 }
            if life.mutation != .clusterForgetsFences {
                fence = FencingToken(device: entered.device, generation: generation)
            }
            for other in older { life.post(.replace(other, by: id)) }
            if life.mutation != .clusterWelcomesEarly {
                perform(machine.takeOver(from: older.count, now: life.now), for: nil)
            }
        }
        goOn()
    }
}
