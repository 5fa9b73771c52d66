import RepriseCore
import RepriseServer
import RepriseWire

/// Watches who is said to type, from outside of both machines.
///
/// Nobody is shown for more than 10 s without a word from the server, nor said by the server to
/// type for more than 10 s (and the second of its clock) without a word from the person's devices;
/// nobody is shown without a connection, and whose connections have ended does not type.
final class TypingChecker {
    private struct Person: Hashable {
        var user: UserID
        var channel: ChannelName
    }

    private struct Screen: Hashable {
        var device: String
        var person: Person
    }

    private let simulation: Simulation
    private var heard: [Screen: Duration] = [:]
    /// What each connection has said last, and whom the server says to type.
    private var said: [Person: [UInt64: Duration]] = [:]
    private var typing: Set<Person> = []

    private static let limit: Duration = .seconds(10)

    init(_ simulation: Simulation) { self.simulation = simulation }

    // MARK: Devices

    func heard(
        _ device: TypingDevice, _ user: UserID, _ channel: ChannelName, _ isTyping: Bool,
        at now: Duration
    ) {
        let screen = Screen(device: device.name, person: .init(user: user, channel: channel))
        heard[screen] = isTyping ? now : nil
    }

    func hungUp(_ device: TypingDevice) { heard = heard.filter { $0.key.device != device.name } }

    func shows(
        _ device: TypingDevice, _ user: UserID, _ channel: ChannelName, at now: Duration
    ) {
        let screen = Screen(device: device.name, person: .init(user: user, channel: channel))
        if user == device.user {
            simulation.violated(.released, "\(device.name) shows its own user")
        }
        guard device.isConnected, let moment = heard[screen], now <= moment + Self.limit else {
            return simulation.violated(
                .released, "\(device.name) shows that \(user) types, and nobody says so any more")
        }
    }

    // MARK: The server

    func said(_ connection: UInt64, _ user: UserID, _ channel: ChannelName, at now: Duration) {
        said[.init(user: user, channel: channel), default: [:]][connection] = now
    }

    func left(_ connection: UInt64) {
        for person in said.keys { said[person]?[connection] = nil }
    }

    func serverDied() { (said, typing) = ([:], []) }

    func told(_ told: TypingBoard.Told) {
        let person = Person(user: told.user, channel: told.channel)
        if told.isTyping { typing.insert(person) } else { typing.remove(person) }
    }

    /// All that was due by now has been told.
    func ticked(at now: Duration) {
        for person in typing {
            let isSaid = (said[person] ?? [:]).values.contains {
                now <= $0 + Self.limit + .seconds(1)
            }
            guard !isSaid else { continue }
            simulation.violated(
                .released, "the server says that \(person.user) types, who has not said so lately")
        }
    }

    var nobodyTypes: Bool { typing.isEmpty }
}
