import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseWire
import Synchronization

/// Shows a person how far publishing is, and why it takes long.
struct PublishProgress: Sendable {
    /// Being held back for less than this is not worth a word.
    private static let leastHeldBack = Duration.seconds(1)

    let queue: PublishQueue

    /// Shows the progress until the task is cancelled, then removes it.
    ///
    /// In a terminal the count has a line of its own; a reason is written once, also without a
    /// terminal.
    func show() async {
        let terminal = Terminal.error
        let start = ContinuousClock.now
        var isExplained = false
        while (try? await Task.sleep(for: .milliseconds(100))) != nil {
            let progress = queue.progress
            if !isExplained, progress.heldBack >= Self.leastHeldBack {
                isExplained = true
                terminal.replaceLine("")
                terminal.writeLine(Self.explanation)
            }
            let rate = Double(progress.acknowledged) / max((.now - start).inSeconds, 0.001)
            var words = progress.isConnected ? "\(Int(rate).grouped)/s" : "connecting"
            if progress.isHeldBack { words += ", held back by the server's rate" }
            terminal.replaceLine("\(progress.acknowledged.grouped) stored, \(words)")
        }
        terminal.replaceLine("")
    }

    private static let explanation =
        "reprise: The server takes only so many messages a second from one user; publishing goes on "
        + "at that rate. `reprise serve --publishes-per-second` sets it."
}

/// The result of publishing.
struct PublishSummary {
    let server: String
    let channel: String
    let progress: PublishQueue.Progress
    let duration: Duration
    let reconnects: Int

    private var rate: Int {
        Int(Double(progress.acknowledged) / max(duration.inSeconds, 0.000_001))
    }

    /// For people.
    var text: String {
        let count = progress.acknowledged
        var text = "\(count.grouped) message\(count == 1 ? "" : "s") stored in \(channel)"
        if let first = progress.firstSequence, let last = progress.lastSequence {
            text += first == last ? " at \(first)" : " at \(first)–\(last)"
        }
        text += String(format: ", %.2f s, %@/s", duration.inSeconds, rate.grouped)
        if reconnects > 0 {
            text += "; reconnected " + (reconnects == 1 ? "once" : "\(reconnects) times")
        }
        if progress.heldBack >= .milliseconds(100) {
            text += "; held back for \(progress.heldBack.shown) by the server's rate"
        }
        return text + "."
    }

    /// For programs, on one line.
    var json: String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("channel")
            json.string(channel)
            json.key("published")
            json.integer(Int64(progress.acknowledged))
            json.key("first")
            json.raw(Array((progress.firstSequence.map(String.init) ?? "null").utf8))
            json.key("last")
            json.raw(Array((progress.lastSequence.map(String.init) ?? "null").utf8))
            json.key("milliseconds")
            json.integer(duration.milliseconds)
            json.key("perSecond")
            json.integer(Int64(rate))
            json.key("reconnects")
            json.integer(Int64(reconnects))
            json.key("sentAgain")
            json.integer(Int64(progress.repeated))
            json.key("heldBackMilliseconds")
            json.integer(progress.heldBack.milliseconds)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Why it ended early, with what is known about the messages.
    func explain(_ failure: any Error) -> any Error {
        let unknown = progress.admitted - progress.acknowledged
        let rest =
            unknown == 0
            ? "" : " It is not known whether the \(unknown.grouped) after them are stored."
        let count = progress.acknowledged
        let stored = "\(count.grouped) message\(count == 1 ? " is" : "s are") stored.\(rest)"
        switch failure {
        case is CancellationError:
            return CommandFailure(.incomplete, "Interrupted. \(stored)")
        case let failure as CommandFailure where progress.acknowledged > 0:
            return CommandFailure(failure.status, "\(failure.message) \(stored)")
        case let failure as RepriseError where progress.acknowledged > 0:
            return CommandFailure(ExitStatus(failure.code), "\(failure.line) \(stored)")
        case is SocketFailure:
            // Its words are the transport's.
            return CommandFailure(
                .unavailable,
                "The connection to \(server) has ended. \(stored) Look at the server's log.")
        default: return failure
        }
    }
}

/// Counts, from any thread.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func increment() { count.add(1, ordering: .relaxed) }
}
