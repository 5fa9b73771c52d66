import Foundation
import RepriseCore
import RepriseTesting

/// The terminal of a person without a phone: the real `reprise chat`, line by line.
struct NoticesTerminal: Sendable {
    /// A line, and when it came, on the clock of a phone's log.
    struct Line: Sendable {
        let text: String
        let microseconds: Int64

        /// Whether it is none of its answers to commands.
        var isMessage: Bool { !text.hasPrefix("* ") }
    }

    private let process: DemoProcess
    private let heard = Shared<[Line]>([])

    /// Starts it; the arguments follow `reprise chat`.
    init(in folder: DemoFolder, clock: LogClock, _ arguments: [String]) throws {
        let place = folder.url.appendingPathComponent("terminal-\(EntryID.random().text.prefix(8))")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let process = try DemoProcess(
            .reprise, ["chat"] + arguments + ["--journal", place.path],
            log: place.appendingPathComponent("log"))
        self.process = process
        folder.atEnd { await process.kill() }
        Task { [heard] in
            while let line = try? await process.line(within: .seconds(86_400)) {
                heard.update { $0.append(Line(text: line, microseconds: clock.microseconds)) }
            }
        }
    }

    var lines: [Line] { heard.value }

    /// The names of the messages that it has; what it answers is none.
    static func names(in lines: [Line]) -> [String] {
        lines.filter(\.isMessage).map { $0.text.split(separator: " ").last.map(String.init) ?? "" }
    }

    /// The sequence of a message; nil: it has not come.
    func seq(of message: String) -> Int64? {
        lines.lazy.map { $0.text.split(separator: " ", maxSplits: 1) }
            .first { $0.last.map(String.init) == message }?.first.flatMap { Int64($0) }
    }

    func say(_ line: String) { process.say(line) }

    /// Asks until the answer is right, or it takes too long.
    func answers(
        _ question: String, within limit: Duration, _ isRight: (Set<String>) -> Bool
    ) async throws -> Bool {
        let end = ContinuousClock.now + limit
        repeat {
            let before = lines.count
            say(question)
            let isSaid = try await Waiting.isTrue(within: .milliseconds(500)) {
                isRight(Set(lines.dropFirst(before).map(\.text)))
            }
            if isSaid { return true }
        } while ContinuousClock.now < end
        return false
    }

    /// SIGKILL.
    func end() async { await process.kill() }
}
