import RepriseCore
import RepriseServer
import RepriseWire

/// The workload of `case-badge-banner` with a server that is told what arrived, and pushes the rest
/// as the shipping `PushMachine` decides.
///
/// The push service is the kindest: what it takes reaches the phone, which shows it whatever the
/// app does.
package struct PushedNoticesControl: Workload {
    package let name = "control-004"
    package let summary = "the shipping decisions of push, tried as seed-004 is"

    package func schedule(seed: UInt64) -> FaultSchedule {
        SocketNoticesWorkload().schedule(seed: seed)
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        SocketNoticesWorkload.play(simulation) { fixture, devices in
            Server(simulation, network: fixture.network, devices)
        }
    }

    private final class Server: OriginalNoticeServer {
        private struct Push {
            let device: Int
            let message: Int
            var due: Duration
        }

        private static let channel: ChannelName = {
            guard let name = try? ChannelName("room") else {
                preconditionFailure("a mistake of the workload: a channel's name")
            }
            return name
        }()

        private let devices: [SocketNoticesDevice]
        private let users: [UserID]
        private var machine = PushMachine(concurrency: 16)
        private var random: SeededRandom
        /// What each device has said to have.
        private var arrived: [Set<Int>]
        /// How far the channel was scanned.
        private var scanned = 0
        private var queue: [Int64: Push] = [:]
        private var number: Int64 = 0
        private var alarm: Duration?

        init(
            _ simulation: Simulation, network: SimulatedNetwork, _ devices: [SocketNoticesDevice]
        ) {
            self.devices = devices
            users = devices.indices.map { UserID(unchecked: "user-\($0)") }
            arrived = Array(repeating: [], count: devices.count)
            random = simulation.random("push")
            super.init(simulation, network: network)
            for (index, device) in devices.enumerated() {
                device.acknowledgement = { Array("\(index) has:\($0)".utf8) }
            }
            decide()
        }

        private var now: Duration { process.clock.uptime() }

        override func publish() {
            super.publish()
            machine.stored(Int64(count), in: Self.channel, now: now)
            decide()
        }

        override func received(_ frame: [UInt8], from socket: SimulatedSocket) {
            let words = String(decoding: frame, as: UTF8.self).split(separator: " ")
            guard words.count == 2, let device = Int(words[0]) else {
                return super.received(frame, from: socket)
            }
            if let message = Self.message(in: frame) { arrived[device].insert(message) }
        }

        // MARK: Push

        private func decide() {
            var actions = machine.next(now: now)
            while !actions.isEmpty {
                for action in actions { perform(action) }
                actions = machine.next(now: now)
            }
            arm()
        }

        private func perform(_ action: PushMachine.Action) {
            switch action {
            case .recover: machine.recovered(succeeded: true, now: now)
            case .scan(_, let through): scan(through: Int(through))
            case .load(let limit): load(limit)
            case .send(let number): send(number)
            case .postpone(let number, let wait, _):
                queue[number]?.due = now + wait
                machine.settled([number], removed: 0, next: now + wait)
            case .release, .scanEarly: break
            }
        }

        private func scan(through: Int) {
            var added = 0
            for message in scanned..<max(through, scanned) {
                for device in devices.indices where !arrived[device].contains(message) {
                    number += 1
                    queue[number] = Push(device: device, message: message, due: now)
                    added += 1
                }
            }
            scanned = max(through, scanned)
            machine.scanned(Self.channel, added: added, through: Int64(through))
        }

        private func load(_ limit: Int) {
            let free = queue.keys.sorted().filter { !machine.holds($0) }
            let due = free.filter { (queue[$0]?.due ?? .zero) <= now }
            let rows = due.prefix(limit).compactMap { number in
                queue[number].map { push in
                    PushMachine.Row(
                        number: number,
                        target: .init(
                            user: users[push.device],
                            device: EntryID(unchecked: "device-\(push.device)")))
                }
            }
            let next = free.compactMap { queue[$0]?.due }.filter { $0 > now }.min()
            machine.loaded(rows, isAll: due.count <= limit, next: next, now: now)
        }

        private func send(_ number: Int64) {
            let latency = random.spread(.milliseconds(20), .seconds(3))
            simulation.after(latency, on: process) { [unowned self] in
                guard let push = queue.removeValue(forKey: number) else { return }
                devices[push.device].pushed(push.message, badge: count)
                _ = machine.answered(.accepted, attempts: 0, now: now, jitter: 0)
                machine.settled([number], removed: 1, next: nil)
                decide()
            }
        }

        private func arm() {
            guard let due = machine.wake(now: now), due != alarm else { return }
            alarm = due
            simulation.after(max(due - now, .zero), on: process) { [unowned self] in
                guard alarm == due else { return }
                alarm = nil
                decide()
            }
        }
    }
}
