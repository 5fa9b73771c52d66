import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

/// What a device logs of one message's way.
@Suite("The log of a message's way on a device", .timeLimit(.minutes(1)))
struct DeviceLogLinesTests {
    private struct Note: Codable, Hashable, Sendable {
        var text: String
    }

    private struct Refusal: Error, CustomStringConvertible {
        let description = "\u{1b}[2J no\nforged"
    }

    private let folder: TemporaryFolder
    private let lines = LoggedLines()

    init() throws { folder = try TemporaryFolder() }

    private func client() -> RepriseClient {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = MemoryServer()
        configuration.connectsAnonymously = true
        configuration.notices = Notices.Configuration()
        configuration.notifications = MemoryNotifications(clock: ManualClock()).connect()
        configuration.logger = lines.logger()
        return RepriseClient(configuration)
    }

    /// The events with this id, in order; a message's values follow its text.
    private func told(_ id: String) -> [String] {
        lines.with("message", id).map { String($0.prefix { $0 != "." }) }
    }

    @Test("an id is in each line from its record to its handler and its notice, its body in none")
    func way() async throws {
        let client = client()
        let general = client.channel("general", of: Note.self)
        try await general.consume(as: "inbox") { _ in }
        let running = Task { try await client.run() }
        try await general.publish(Note(text: "a secret"), id: EntryID("m1"))
        try await eventually("\(told("m1"))") {
            let so = told("m1")
            let ends = [
                "A message is handled", "A message is decided", "The server has stored a message",
            ]
            return ends.allSatisfy { so.contains("debug \($0)") }
        }
        let all = told("m1")
        // The event and the answer race; the rest has an order.
        #expect(Array(all.prefix(2)) == ["debug A message is recorded", "debug A message is sent"])
        let received = try #require(all.firstIndex(of: "debug A message is received"))
        #expect(try #require(all.firstIndex(of: "debug A message is handled")) > received)
        // The decision hears of it when it is in the journal, which may be before that line.
        #expect(all.contains("debug A message is decided"))
        #expect(
            lines.all.contains {
                $0.hasPrefix("debug A message is handled.") && $0.contains(" reader=inbox ")
                    && $0.contains(" channel=general ") && $0.hasSuffix(" seq=1")
            }, "\(lines.all)")
        #expect(!lines.all.contains { $0.contains("secret") })
        running.cancel()
        try await running.value
        await client.close()
    }

    @Test("a handler's failure is a line with its attempt and its words, escaped; a page's too")
    func failures() async throws {
        let client = client()
        let general = client.channel("general", of: Note.self)
        try await general.consume(as: "outside") { _ in throw Refusal() }
        try await general.consume(
            as: "inside",
            inTransaction: { _, messages in
                if messages.contains(where: { $0.id.text == "bad" }) { throw Refusal() }
            })
        let running = Task { try await client.run() }
        try await general.publish(Note(text: "a secret"), id: EntryID("good"))
        try await general.publish(Note(text: "a secret"), id: EntryID("bad"))
        func failed(_ reader: String, _ id: String) -> Bool {
            lines.all.contains {
                $0.hasPrefix("debug A handler has failed. attempt=1 ")
                    && $0.contains(" message=\(id) reader=\(reader) ")
                    && $0.contains(#"reason=\u{1b}[2J no\nforged"#)
            }
        }
        func handled(_ reader: String, _ id: String) -> Bool {
            lines.all.contains {
                $0.hasPrefix("debug A message is handled.")
                    && $0.contains(" message=\(id) reader=\(reader) ")
            }
        }
        try await eventually("all are logged: \(lines.all)") {
            failed("outside", "good") && failed("outside", "bad") && failed("inside", "bad")
                && handled("inside", "good")
        }
        #expect(!handled("inside", "bad") && !handled("outside", "good"))
        #expect(!failed("inside", "good"))
        #expect(!lines.all.contains { $0.contains("\u{1b}") || $0.contains("\n") })
        running.cancel()
        try await running.value
        await client.close()
    }
}
