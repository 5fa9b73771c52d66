import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// Says on standard error why messages of a channel do not come: the server refuses the channel, or
/// they are lost.
struct ChannelWatch: Sendable {
    /// The wait before a refused channel is asked for again.
    private static let pause = Duration.seconds(5)

    let channel: Channel
    /// Whether a refused channel is asked for again; else its refusal is thrown.
    let asksAgain: Bool
    /// Raised when the channel is live, and all is said that came before.
    let live = Signal()
    private let states: AsyncStream<ChannelState>

    /// Observes from now on, so that a task that starts late misses nothing.
    init(_ channel: Channel, asksAgain: Bool) {
        self.channel = channel
        self.asksAgain = asksAgain
        states = channel.states
    }

    /// Returns when the task is cancelled.
    ///
    /// - Throws: ``RepriseError`` `.refused`, and the journal's errors.
    func run() async throws {
        var lostBefore: Int64 = 0
        var isRefused = false
        for await state in states {
            switch state {
            case .refused(let code, let message):
                let error = refusal(code, message)
                guard asksAgain else { throw error }
                if !isRefused { Terminal.error.writeLine("reprise: \(error.line)") }
                isRefused = true
                guard (try? await Task.sleep(for: Self.pause)) != nil else { return }
                try await channel.subscribe()
            case .beyondRetention(let lost):
                if lost > lostBefore { tell(lost: lost - lostBefore) }
                lostBefore = lost
            case .live:
                isRefused = false
                live.raise()
            // The count begins anew with each connection.
            case .closed, .subscribing: lostBefore = 0
            case .catchingUp, .repairing, .stalled: continue
            }
        }
    }

    private func refusal(_ code: RefusalCode, _ message: String) -> RepriseError {
        let check = code == .forbidden ? "Check the user, and the channel's name. " : ""
        let again =
            asksAgain
            ? "It is asked for again every \(Self.pause.components.seconds) s."
            : "With --wait it is asked for again."
        return RepriseError(
            .refused, "The server refuses \(channel.name): \(message)", remedy: check + again)
    }

    private func tell(lost: Int64) {
        let words =
            lost == 1
            ? "1 message of \(channel.name) is" : "\(lost.grouped) messages of \(channel.name) are"
        Terminal.error.writeLine(
            "reprise: \(words) lost: removed by the server's retention before this device had "
                + "them.")
    }
}
