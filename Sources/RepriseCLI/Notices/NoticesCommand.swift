import ArgumentParser
import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseNotices
import RepriseWire

/// `reprise notices`: the notifications of messages, with the reason of each decision.
struct NoticesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notices",
        abstract: "Show decisions about messages, and the badge.",
        discussion: """
            For each message: whether its notification is shown (standing), was shown
            before (gone) or not by the app (silent), what delivered it first (push,
            extension, live, catchUp), the first reason that held (found: the system had
            shown a push before the app heard of it), and how it ended (tapped, read, …:
            docs/notices.md#inspection). Also the badge, and the number of decisions by
            reason. Newest first. Safe while another process owns the journal.

            EXAMPLES
              reprise notices --journal ./inbox
              reprise notices --journal ./inbox --json | jq .badge

            EXIT CODES
              0 done; 65 no journal there, or a damaged one. All: reprise --help
            """)

    @OptionGroup var journal: JournalOption
    @Option(help: ArgumentHelp("How many, 0 to 1,000.", valueName: "n")) var limit = 20
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard (0...1_000).contains(limit) else { throw ValidationError("--limit is 0 to 1,000.") }
    }

    func run() async throws {
        let reading = try journal.read {
            try NoticesReading.read(at: $0, schemas: AccountClient.featureSchemas, limit: limit)
        }
        if json { return try StandardOutput.write(NoticesText.json(reading)) }
        guard let reading else {
            return try StandardOutput.write("The journal has no tables yet.")
        }
        try StandardOutput.write(NoticesText.lines(reading).joined(separator: "\n"))
    }
}

/// Decisions for a person, and for programs.
enum NoticesText {
    private static let width = 80
    private static let indent = 31

    static func lines(_ reading: NoticesReading) -> [String] {
        var badge = "badge \(reading.badge)"
        if reading.channels > 0 {
            badge += ", in \(reading.channels) channel\(reading.channels == 1 ? "" : "s")"
        }
        if reading.badge != reading.total {
            badge += ", counted by the server; here \(reading.total)"
        }
        if reading.shown != reading.badge { badge += ", not yet at the icon" }
        var lines = [badge]
        if !reading.counts.isEmpty {
            lines += wrapped(
                reading.counts.map { "\($0.what) \($0.count)".printable }, after: "decided")
        }
        guard !reading.decided.isEmpty else {
            return reading.counts.isEmpty ? lines + ["No message was decided upon yet."] : lines
        }
        return lines + [""] + reading.decided.flatMap(line)
    }

    /// A line that is too long continues below, indented by the time column.
    private static func line(_ one: NoticesReading.Decided) -> [String] {
        let standing = one.standing.padding(toLength: 8, withPad: " ", startingAt: 0)
        let first = "\(one.at.dayAndTime)  \(standing)  \(one.channel)/\(one.seq)".printable
        let why = one.words().printable
        let whole = first + "  " + why
        if whole.count <= width { return [whole] }
        let space = String(repeating: " ", count: indent)
        return [first] + why.wrapped(width - indent).map { space + $0 }
    }

    private static func wrapped(_ words: [String], after head: String) -> [String] {
        var lines = [head]
        for (index, word) in words.enumerated() {
            let word = index == words.count - 1 ? word : word + ","
            if lines[lines.count - 1].count + 1 + word.count > width {
                lines.append(String(repeating: " ", count: head.count))
            }
            lines[lines.count - 1] += " " + word
        }
        return lines
    }

    /// As one object; nil: the journal has no tables yet.
    static func json(_ reading: NoticesReading?) -> String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("badge")
            json.integer(reading?.badge ?? 0)
            json.key("total")
            json.integer(reading?.total ?? 0)
            for (key, value) in [
                ("counted", reading?.counted), ("asOf", reading?.asOf?.milliseconds),
                ("shown", reading?.shown),
            ] {
                guard let value else { continue }
                json.key(plain: key)
                json.integer(value)
            }
            json.key("counts")
            json.object { json in
                for count in reading?.counts ?? [] {
                    json.key(text: count.what)
                    json.integer(count.count)
                }
            }
            json.key("messages")
            json.array { json in for one in reading?.decided ?? [] { write(one, to: &json) } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func write(_ one: NoticesReading.Decided, to json: inout JSONWriter) {
        json.object { json in
            json.key("id")
            json.string(one.id)
            json.key("channel")
            json.string(one.channel)
            json.key("seq")
            json.integer(one.seq)
            json.key("at")
            json.integer(one.at.milliseconds)
            for (key, text) in [
                ("standing", one.standing), ("way", one.way), ("reason", one.reason),
            ] {
                json.key(plain: key)
                json.string(text)
            }
            json.key("presentation")
            json.integer(Int64(one.presentation.rawValue))
            if let ended = one.ended {
                json.key("ended")
                json.string(ended)
            }
            json.key("alerts")
            json.integer(Int64(one.alerts))
            json.key("unconfirmed")
            json.integer(Int64(one.unconfirmed))
        }
    }
}
