import RepriseChannels
import RepriseCore
import RepriseWire

/// Seed 001's DebugView: where every channel stands, in numbers.
struct DebugView: Sendable {
    struct Row: Sendable {
        let channel: String
        let state: ChannelState
        /// What is accounted for; nil where the SDK does not say.
        var coverage: String?
        var head: Int64?
        var missing: Int64?
        /// Events a second.
        var rate: Double?
        var received: Int64?
        var duplicates: Int64?
        var repairs: Int64?
        var lastError: String?
    }

    let connection: ConnectionState
    let reconnects: Int
    let lastError: String?
    let rows: [Row]

    /// A table of 80 columns, without control characters.
    var lines: [String] {
        let head =
            "channel".left(14) + "mode".left(12) + "coverage".left(14) + "head".right(8)
            + "holes".right(7) + "/s".right(7) + "received".right(10) + "twice".right(7)
        let state = "connection: \(connection.words), \(reconnects.grouped) reconnects"
        var lines = [state.printable.fitting(80), head]
        for row in rows {
            lines.append(
                row.channel.printable.fitting(13).left(14) + row.state.word.left(12)
                    + (row.coverage ?? "–").fitting(13).left(14)
                    + (row.head?.grouped ?? "–").right(8) + (row.missing?.grouped ?? "–").right(7)
                    + (row.rate.map(Self.rate) ?? "–").right(7)
                    + (row.received?.grouped ?? "–").right(10)
                    + (row.duplicates?.grouped ?? "–").right(7))
        }
        for row in rows {
            guard let error = row.lastError else { continue }
            lines.append("\(row.channel): \(error)".printable.fitting(80))
        }
        if let lastError { lines.append("last error: \(lastError)".printable.fitting(80)) }
        return lines
    }

    private static func rate(_ rate: Double) -> String {
        let tenths = Int64(min(max(rate, 0), 1_000_000) * 10)
        return tenths >= 1_000 ? (tenths / 10).grouped : "\(tenths / 10).\(tenths % 10)"
    }

    /// For programs, on one line.
    var json: String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("connection")
            json.string(connection.words)
            json.key("connected")
            json.bool(connection == .connected)
            json.key("reconnects")
            json.integer(Int64(reconnects))
            if let lastError {
                json.key("lastError")
                json.string(lastError)
            }
            json.key("channels")
            json.array { list in rows.forEach { row in list.object { Self.write(row, to: &$0) } } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ row: Row, to json: inout JSONWriter) {
        json.key("channel")
        json.string(row.channel)
        json.key("mode")
        json.string(row.state.word)
        if let coverage = row.coverage {
            json.key("coverage")
            json.string(coverage)
        }
        let counts: [(StaticString, Int64?)] = [
            ("head", row.head), ("missing", row.missing), ("received", row.received),
            ("duplicates", row.duplicates), ("repairs", row.repairs),
        ]
        for case (let name, let count?) in counts {
            json.key(name)
            json.integer(count)
        }
        if let rate = row.rate {
            json.key("rate")
            json.raw(Array(Self.rate(rate).filter { $0 != "," }.utf8))
        }
        if let error = row.lastError {
            json.key("lastError")
            json.string(error)
        }
    }
}

extension ChannelState {
    /// One word for a table.
    var word: String {
        switch self {
        case .closed: "closed"
        case .subscribing: "subscribing"
        case .catchingUp: "catching up"
        case .live: "live"
        case .repairing: "repairing"
        case .stalled: "stalled"
        case .beyondRetention: "beyond"
        case .refused: "refused"
        }
    }
}
