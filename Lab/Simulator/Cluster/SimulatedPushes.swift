import RepriseCore
import RepriseServer
import RepriseWire

/// The push service of a simulated cluster and the devices behind it: it counts what it accepts,
/// and compares that with what the journal notes.
///
/// A push may come twice while its first is not noted; never once it is, and never for what the
/// gateway that sends it knows to be read.
final class SimulatedPushes {
    /// Where the messages are that are pushed.
    let channel: ChannelName
    let devices: [(user: UserID, device: EntryID)]
    let simulation: Simulation
    private let truth: JournalTruth
    private var random: SeededRandom
    private(set) var accepted: Set<PushProgress.Mark> = []
    /// What each queue of a gateway has brought to the service.
    private var accepts: [Int: Set<PushProgress.Mark>] = [:]
    private var queues = 0
    /// What the journal notes: what was pushed, and up to where nothing waits.
    private var noted: Set<PushProgress.Mark> = []
    private var done: Int64 = 0
    /// How far people have read, and in which entry that is told.
    private var reads: [(user: UserID, read: Int64, entry: Int64)] = []
    /// The gateways' parts.
    var parts: [PushesGateway] = []
    /// Called now and then before an effect: the gateway may be killed or frozen right there.
    var struck: (SimulatedGateway) -> Void = { _ in }
    /// Whether nothing goes wrong any more.
    var isHealed = false
    /// Whether nobody pushes any more, so that the journal comes to rest.
    var isOver = false

    init(_ simulation: Simulation, _ truth: JournalTruth) throws {
        self.simulation = simulation
        self.truth = truth
        channel = try ChannelName("pushed")
        devices = try (0..<3).map { number in
            (user: try UserID("owner-\(number % 2)"), device: try EntryID("phone-\(number)"))
        }
        random = simulation.random("pushes' effects")
        truth.pushed = { [self] in note($0) }
        truth.moved = { [self] in move($0) }
        simulation.whenEnded { [self] in (struck, parts) = ({ _ in }, []) }
    }

    /// From 0 up to 1, for one gateway.
    func jitter() -> Double { random.fraction() }

    /// A new queue begins, which sends nothing twice that was accepted.
    func beginQueue() -> Int {
        queues += 1
        return queues
    }

    /// Asked before each effect: whether the gateway goes on.
    func survives(_ effect: String, of gateway: SimulatedGateway) -> Bool {
        if !isHealed, random.chance(0.02) { struck(gateway) }
        return gateway.process.survives(effect)
    }

    // MARK: The journal

    private func note(_ progress: PushProgress) {
        noted.formUnion(progress.marks)
        for one in progress.done where one.channel == channel { done = max(done, one.through) }
    }

    private func move(_ move: AccountEffects.Move) {
        guard move.channel == channel else { return }
        reads.append((move.position.user, move.position.read, truth.position.sequence))
    }

    // MARK: The service

    /// Sends a push, from a queue; `then` hears whether it was accepted.
    func send(
        _ push: PushProgress.Mark, of queue: Int, by gateway: SimulatedGateway,
        then: @escaping (_ isAccepted: Bool) -> Void
    ) {
        expectNeeded(push, by: gateway)
        let (process, life) = (gateway.process, gateway.process.life)
        let isLost = !isHealed && random.chance(0.1)
        let (way, back) = (latency(), latency())
        simulation.after(way) { [self] in
            if !isLost { accept(push, of: queue) }
            guard process.life == life else { return }
            simulation.after(back, on: process) { then(!isLost) }
        }
    }

    private func latency() -> Duration { random.latency(.milliseconds(1), .milliseconds(400)) }

    private func accept(_ push: PushProgress.Mark, of queue: Int) {
        simulation.trace("pushes", "\(Self.text(push)) is accepted")
        accepted.insert(push)
        guard !accepts[queue, default: []].insert(push).inserted else { return }
        simulation.violated(.once, "\(Self.text(push)) is sent twice from one queue")
    }

    private func expectNeeded(_ push: PushProgress.Mark, by gateway: SimulatedGateway) {
        if let other = parts.first(where: { $0.number != gateway.number && $0.mayPush }) {
            simulation.violated(
                .once, "gateways \(gateway.number) and \(other.number) push at once")
        }
        if noted.contains(push) || push.seq <= done {
            simulation.violated(
                .once, "\(Self.text(push)) is sent, and the journal notes that it needs no push")
        }
        let applied = gateway.view.position.sequence
        if reads.contains(where: {
            $0.user == push.user && $0.read >= push.seq && $0.entry <= applied
        }) {
            simulation.violated(.once, "\(Self.text(push)) is sent, and is known to be read")
        }
    }

    private static func text(_ push: PushProgress.Mark) -> String {
        "the push of message \(push.seq) to \(push.device)"
    }

    // MARK: The end

    /// What no device has got and nobody has read.
    func missing(upTo head: Int64) -> PushProgress.Mark? {
        for seq in stride(from: 1, through: head, by: 1) {
            for (user, device) in devices {
                let push = PushProgress.Mark(
                    user: user, device: device, channel: channel, seq: seq)
                let isRead = reads.contains { $0.user == user && $0.read >= seq }
                if !isRead, !accepted.contains(push) { return push }
            }
        }
        return nil
    }
}
