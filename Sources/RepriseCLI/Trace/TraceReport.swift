import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The way of one message, and what nobody has kept of it.
struct TraceReport: Sendable {
    let id: EntryID
    let trace: MessageTrace?
    var channel: String? { trace?.channel ?? named }
    /// The channel that the caller has named.
    var named: String?
    /// Known from the journal, or from the server.
    var seq: Int64?
    var steps: [TraceStep] = []
    /// What is not known, and who might know it.
    var unknown: [String] = []

    init(_ id: EntryID, _ trace: MessageTrace?, named: ChannelName?) {
        self.id = id
        self.trace = trace
        self.named = named?.text
        seq = trace?.seq
    }

    func lines(_ terminal: Terminal) -> [String] {
        var lines = ["message  \(id)", "channel  \(channel ?? "not known")"]
        if let seq { lines.append("sequence \(seq)") }
        for place in [TraceStep.Place.device, .server] {
            let steps = steps.filter { $0.place == place }
            guard !steps.isEmpty else { continue }
            lines += ["", terminal.paint(title(place), .bold)]
            lines += steps.flatMap { $0.lines(terminal) }
        }
        guard !unknown.isEmpty else { return lines }
        lines += ["", terminal.paint("not known", .bold)]
        return lines
            + unknown.flatMap { line in
                line.printable.wrapped(76).enumerated().map { ($0 == 0 ? "  - " : "    ") + $1 }
            }
    }

    private func title(_ place: TraceStep.Place) -> String {
        switch place {
        case .server: "on the server"
        case .device:
            "in this journal"
                + (trace.map { trace in
                    let user = trace.message.user.map { "of \($0), " } ?? ""
                    return " (\(user)device \(trace.message.device.prefix(16)))".printable
                } ?? "")
        }
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { json in
            json.member("message", id.text)
            json.member("channel", channel)
            json.member("seq", seq)
            json.member("device", trace?.message.device)
            json.member("user", trace?.message.user)
            json.key("steps")
            json.array { list in for step in steps { step.write(to: &list) } }
            json.key("unknown")
            json.array { list in for line in unknown { list.string(line) } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
