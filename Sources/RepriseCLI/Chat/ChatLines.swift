import Foundation
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseWire
import Synchronization

/// The chat without a terminal: lines in, messages out, so that a program can take part.
struct ChatLines: Sendable {
    /// How long a signal leaves to answers that are under way.
    static let ending: Duration = .seconds(1)
    /// The reader's name in the journal: the same in every run, because its position hangs on it.
    private static let reader = "chat-lines"

    let room: ChatRoom
    let channel: Channel
    /// How long the end of the input waits for the server to take what was typed.
    let timeout: Duration
    /// What was not printed is printed by the next run.
    let output = OutputFailure()
    private let printer = LinePrinter()

    /// Prints messages, from the end of the last run.
    func listen() async throws {
        // The output's failure is none of the message: it never becomes a dead letter.
        let options = ReaderOptions(attemptLimit: .max)
        try await channel.read(Self.reader, options: options) { message in
            try await output.ends { try printer.print(Self.line(message)) }
        }
    }

    /// Publishes the lines of the standard input until it ends and all is with the server, or the
    /// time is over.
    func run() async throws {
        do { try await publish() } catch is CancellationError {}
        _ = try await waiting(within: timeout)
        try tell(await room.newRefusals())
    }

    /// Prints what the server refuses of the conversation, until the task is cancelled.
    func watchRefusals() async throws { try await room.watchRefusals { try tell($0) } }

    /// The messages that the server has refused last, at most a page of them.
    func refused() async throws -> [DeadLetter] {
        try await channel.outbox.newestDeadLetters(limit: OutboxLimits.listed)
    }

    /// The first message that the server has refused since ``refused()`` was what it is given.
    func refused(after former: [DeadLetter]) async throws -> DeadLetter? {
        let known = Set(former.map(\.id)).subtracting(await room.sentAgain)
        return try await refused().reversed().prefix { !known.contains($0.id) }.last
    }

    /// Waits until the server has all messages, and all changes of the conversation itself.
    ///
    /// - Returns: how many it does not have after that time, or once the task is cancelled or the
    ///   client has given up: they are sent at the next start.
    func waiting(within limit: Duration) async throws -> Int {
        let end = ContinuousClock.now + limit
        while true {
            let count = try await channel.outbox.waiting() + room.waitingChanges()
            guard count > 0, .now < end, !Task.isCancelled, await room.stopReason == nil else {
                return count
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    private func tell(_ notice: [String]) throws {
        for line in notice { try printer.print("* " + line.printable) }
    }

    private func publish() async throws {
        let reader = InputLineReader(descriptor: STDIN_FILENO)
        while let line = try await reader.next() {
            guard let text = String(validating: line, as: UTF8.self) else {
                try tell(await room.rejected(Self.notUTF8(reader.lineNumber)))
                continue
            }
            guard text.contains(where: { !$0.isWhitespace }) else { continue }
            guard await room.perform(ChatCommandLine(text)) else { break }
            try tell(await room.snapshot.notice)
        }
    }

    private static func notUTF8(_ line: Int) -> RepriseError {
        RepriseError(
            .malformed, "Line \(line) is not UTF-8.",
            remedy: "Convert the input, for instance with iconv -t UTF-8.")
    }

    private static func line(_ message: Message) -> String {
        let author = message.from?.text ?? ChatBody.nobody
        let again = message.attempt > 1 ? " (again)" : ""
        let what = MessagePrinter.words(
            message.body, change: message.change, isDeleted: message.isDeleted
        ) { ChatBody($0).text }
        return "\(message.seq)\(again) \(author.printable): \(what.printable)"
    }
}

/// Prints lines one at a time, from whatever task.
private final class LinePrinter: Sendable {
    private let turn = Mutex(())

    func print(_ line: String) throws { try turn.withLock { _ in try StandardOutput.write(line) } }
}
