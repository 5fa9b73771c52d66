import RepriseCore
import RepriseWire

/// The results of the devices of the scenario `catch-up` for the same events.
struct CatchUpReport: Sendable {
    /// A device's effects, by the files outside of any journal.
    struct Device: Sendable {
        let applied: Int
        let again: Int
        let lost: Int
        /// How many of the events that came after the subscription was killed.
        let live: Int
        /// From its return until it said, for the last time, that it has everything.
        let complete: Duration?
        let isFrozen: Bool

        /// Whether its report was correct.
        var isRight: Bool { complete != nil && lost == 0 }
    }

    let seed: UInt64
    let speed: Double
    /// How many events the server has acknowledged to the publishers.
    let acknowledged: Int
    /// How many of them after the subscription was killed.
    let live: Int
    let devices: [CatchUpDevice: Device]
    let duration: Duration

    /// Whether all invariants held.
    var hasPassed: Bool {
        guard let ours = devices[.reprise] else { return false }
        return ours.isRight && ours.again == 0
    }

    /// For people.
    func table(_ terminal: Terminal) -> String {
        func row(
            _ name: String, _ value: (Device) -> (String, Terminal.Colour?)
        ) -> String {
            CatchUpDevice.allCases.reduce(name.left(32)) { row, role in
                guard let device = devices[role] else { return row }
                let (text, colour) = value(device)
                return row + (colour.map { terminal.paint(text.right(12), $0) } ?? text.right(12))
            }
        }
        func bad(_ count: Int) -> (String, Terminal.Colour?) {
            (count.grouped, count == 0 ? .green : .red)
        }
        return [
            "",
            terminal.paint(
                "".left(32) + "first".right(12) + "repaired".right(12) + "+ signal".right(12)
                    + "reprise".right(12), .bold),
            row("acknowledged by the server") { _ in (acknowledged.grouped, nil) },
            row("applied, in a file outside") { ($0.applied.grouped, nil) },
            row("  lost") { bad($0.lost) },
            row("  handed over a second time") { bad($0.again) },
            row("live after the kill, of \(live.grouped)") { ($0.live.grouped, nil) },
            row("from coming back to “complete”") { device in
                (device.complete.map(\.shown) ?? (device.isFrozen ? "frozen" : "never"), nil)
            },
            row("  and it was complete") { device in
                guard device.complete != nil else { return ("–", nil) }
                return device.isRight ? ("yes", .green) : ("no", .red)
            },
            "",
            disposition(terminal),
            "",
            explanation,
            "Run it again: reprise demo catch-up --seed \(seed)" + (speed == 1 ? "" : " --fast"),
        ].joined(separator: "\n")
    }

    private func disposition(_ terminal: Terminal) -> String {
        hasPassed
            ? terminal.paint(
                "Nothing lost, nothing twice, and complete when it said so.", .green)
            : terminal.paint("A promise was broken. Please report it with the seed.", .red)
    }

    private var explanation: String {
        """
        first      seed 001 before its repair: an error in the middle of a catch-up
                   leaves it waiting for events that never come.
        repaired   calls it complete after 30 s without an event, 60 s at most, or an
                   error; then asks for what is above the highest sequence it has seen.
        + signal   the same, with a server that says when a catch-up is over: it knows
                   sooner, and misses the same.
        reprise    keeps which ranges it has, and asks for exactly the others.

        A live event is the highest sequence at once. What of the backlog had not come
        when the connection broke lies below it, and nobody asks for it again.
        """ + (speed == 1 ? "" : "\nThe seed's timers went \(Int(speed)) times as fast here.")
    }

    /// For programs, on one line.
    func json() -> String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("scenario")
            json.plain("catch-up")
            json.key("seed")
            json.raw(Array(String(seed).utf8))
            json.key("speed")
            json.raw(Array(String(speed).utf8))
            json.key("acknowledged")
            json.integer(Int64(acknowledged))
            json.key("live")
            json.integer(Int64(live))
            for role in CatchUpDevice.allCases {
                guard let device = devices[role] else { continue }
                json.key(role.key)
                Self.write(device, to: &json)
            }
            json.key("milliseconds")
            json.integer(duration.milliseconds)
            json.key("passed")
            json.bool(hasPassed)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ device: Device, to json: inout JSONWriter) {
        json.object { json in
            json.key("applied")
            json.integer(Int64(device.applied))
            json.key("lost")
            json.integer(Int64(device.lost))
            json.key("again")
            json.integer(Int64(device.again))
            json.key("live")
            json.integer(Int64(device.live))
            json.key("completeMilliseconds")
            json.raw(Array((device.complete.map { "\($0.milliseconds)" } ?? "null").utf8))
            json.key("wasComplete")
            json.bool(device.isRight)
            json.key("frozen")
            json.bool(device.isFrozen)
        }
    }
}

extension CatchUpDevice {
    /// Its name in the JSON.
    fileprivate var key: StaticString {
        switch self {
        case .first: "first"
        case .repaired: "repaired"
        case .signalled: "signalled"
        case .reprise: "reprise"
        }
    }
}
