import RepriseChannels
import RepriseCore
import RepriseServer
import RepriseWire

/// The app's own backend, which signs tokens: mostly quick and right.
final class TokenBackend {
    private let simulation: Simulation
    private let accounts: SimulatedAccounts
    /// How long its tokens last.
    private let life: Duration
    private var random: SeededRandom
    private var faults: [(fault: Fault, until: Duration)] = []
    private var number = 0

    init(_ simulation: Simulation, _ accounts: SimulatedAccounts) {
        self.simulation = simulation
        self.accounts = accounts
        random = simulation.random("tokens")
        life = random.spread(.seconds(20), .seconds(1_200))
    }

    func inflict(_ fault: Fault) { faults.append((fault, simulation.now + fault.length)) }

    func heal() { faults = [] }

    /// Answers the app of a device, which may be dead by then.
    func answer(
        _ device: SimulatedDevice, as user: UserID,
        then: @escaping (Result<AccessToken, any Error>) -> Void
    ) {
        let active = faults.filter { simulation.now < $0.until }.map(\.fault)
        let skew = active.first { $0.kind == .tokenSkew }.map(Self.skew) ?? .zero
        if skew != .zero { simulation.met(.tokenSkew) }
        var wait = random.spread(.milliseconds(2), .milliseconds(400))
        var answer = Result<AccessToken, any Error> { try token(of: user, skew: skew) }
        if active.contains(where: { $0.kind == .tokensFail }), random.chance(0.7) {
            simulation.met(.tokensFail)
            switch random.index(3) {
            case 0: answer = .failure(RepriseError(.unreachable, "The backend is not there."))
            case 1: wait = random.spread(.seconds(5), .seconds(90))
            default: answer = Result { try AccessToken("forged.\(number).x") }
            }
        }
        simulation.after(wait, on: device.process) { then(answer) }
    }

    /// Seconds or a year, to either side.
    private static func skew(_ fault: Fault) -> Duration {
        let lengths: [Duration] = [
            .seconds(50), .seconds(80), .seconds(4_000), .seconds(365 * 86_400),
        ]
        let length = lengths[Int(fault.bits % 4)]
        return fault.bits >> 4 & 1 == 0 ? length : .zero - length
    }

    private func token(of user: UserID, skew: Duration) throws -> AccessToken {
        number += 1
        let token = try AccessToken("signed.\(number).x")
        let now = SimulatedClock.beginning.advanced(by: simulation.now + skew)
        accounts.signed[token] = TokenClaims(
            subject: user, expires: now.advanced(by: life), notBefore: now, issued: now,
            audiences: [SimulatedAccounts.audience])
        return token
    }
}
