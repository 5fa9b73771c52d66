import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The state of every channel, in numbers.
struct DebugView: Sendable {
    struct Row: Sendable {
        let channel: String
        let diagnostics: ChannelDiagnostics
        /// Nil where only the process that owns the journal knows it.
        var state: ChannelState? { isOwn ? diagnostics.state : nil }
        var isOwn = true

        /// The coverage, as ranges.
        var coverage: String {
            let ranges = diagnostics.coverage.ranges.map { "\($0.after + 1)-\($0.through)" }
            return ranges.isEmpty ? "nothing" : ranges.joined(separator: ",")
        }
    }

    /// Nil where another process has it.
    let connection: ConnectionState?
    let reconnects: Int64
    let lastError: String?
    let rows: [Row]

    /// A table of 80 columns, without control characters.
    var lines: [String] {
        let head =
            "channel".left(14) + "mode".left(12) + "coverage".left(14) + "head".right(8)
            + "holes".right(7) + "/s".right(7) + "received".right(10) + "twice".right(7)
        let times = reconnects == 1 ? "reconnect" : "reconnects"
        let state =
            connection.map { "connection: \($0.words), \(reconnects.grouped) \(times)" }
            ?? "another process has the journal; as of its last commit:"
        var lines = [state.printable.fitting(80), head]
        for row in rows {
            lines.append(
                row.channel.fitting(13).left(14) + (row.state?.word ?? "?").left(12)
                    + row.coverage.fitting(13).left(14) + row.diagnostics.head.grouped.right(8)
                    + row.diagnostics.missing.grouped.right(7)
                    + Self.rate(row.diagnostics.rate).right(7)
                    + row.diagnostics.received.grouped.right(10)
                    + row.diagnostics.duplicates.grouped.right(7))
        }
        for row in rows {
            guard let error = row.diagnostics.lastError else { continue }
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
            if let connection {
                json.key("connection")
                json.string(connection.words)
                json.key("connected")
                json.bool(connection == .connected)
                json.key("reconnects")
                json.integer(reconnects)
            } else {
                json.key("ownedByAnotherProcess")
                json.bool(true)
            }
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
        if let state = row.state {
            json.key("mode")
            json.string(state.word)
        }
        json.key("coverage")
        json.string(row.coverage)
        let counts: [(StaticString, Int64)] = [
            ("head", row.diagnostics.head), ("missing", row.diagnostics.missing),
            ("received", row.diagnostics.received), ("duplicates", row.diagnostics.duplicates),
            ("repairs", row.diagnostics.repairs), ("requests", row.diagnostics.requests),
        ]
        for (name, count) in row.isOwn ? counts : Array(counts.prefix(3)) {
            json.key(name)
            json.integer(count)
        }
        guard row.isOwn else { return }
        json.key("rate")
        json.raw(Array(Self.rate(row.diagnostics.rate).filter { $0 != "," }.utf8))
        if let error = row.diagnostics.lastError {
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
