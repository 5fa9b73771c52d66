public import Foundation
import RepriseChains
import RepriseChannels
import RepriseCore
import RepriseJournal

extension RepriseClient {
    /// Writes what the client has done, for a report of a bug: a file of JSON, a value a line.
    ///
    /// It has the state, the ledger, what the device has of each channel, the newest 10,000 entries
    /// with what became of each, the newest 1,000 chains, and the newest 2,000 lines of the log
    /// since the launch. It has no body, no property and no token; it has names of channels, users,
    /// readers and chains, ids, times, and the texts of errors.
    ///
    /// - Parameter url: a file; one that is there is replaced.
    /// - Throws: ``RepriseCore/RepriseError`` `.diskFull`, `.notWritable`, `.diskFailed`. A journal
    ///   that cannot be opened or read is named in the file.
    public func exportTimeline(to url: URL) async throws {
        var lines = TimelineLines()
        lines.add("client", ["state": "\(state)", "user": user?.text])
        do {
            let account = try await accounts.opened().current
            let sum = try await account.ledger()
            var ledger: [String: Int64] = [
                "accepted": sum.accepted, "pending": sum.pending, "duplicates": sum.duplicates,
            ]
            for (outcome, count) in sum.outcomes { ledger[outcome.rawValue] = count }
            lines.add("ledger", ledger)
            for channel in try await account.channels.history() { lines.add("channel", channel) }
            for entry in try await account.journal.history(limit: ClientLimits.timelineEntries) {
                lines.add("entry", entry)
            }
            if let chains = account.chains {
                for chain in try await chains.list(limit: 1_000).reversed() {
                    lines.add("chain", chain)
                }
            }
        } catch {
            lines.add("unreadable", ["error": "\(error)"])
        }
        for line in recent.all {
            lines.add(
                "log",
                TimelineLines.Log(
                    at: line.at, level: line.level, message: line.message, values: line.values))
        }
        try DurableFile.write(lines.bytes, to: url.path)
    }
}

/// A line for each value, `{"what":"entry","value":{…}}`.
private struct TimelineLines {
    struct Log: Encodable {
        let at: WallTime
        let level: String
        let message: String
        let values: [String: String]
    }

    private struct Line<Value: Encodable>: Encodable {
        let what: String
        let value: Value
    }

    private(set) var bytes: [UInt8] = []
    private let encoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    mutating func add(_ what: String, _ value: some Encodable) {
        guard let line = try? encoder.encode(Line(what: what, value: value)) else { return }
        bytes += line + [UInt8(ascii: "\n")]
    }
}
