import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseWire

/// Publishes over several connections at full speed, and records the server's acknowledgements.
final class Traffic: Sendable {
    static let connections = 4

    private struct State {
        var acknowledged: Set<EntryID> = []
        var sent = 0
        var burst: (messages: Int, start: ContinuousClock.Instant) = (0, .now)
        var rates: [Int] = []
    }

    private let channel: String
    private let state = Shared(State())
    /// Of each connection; unbounded: they hold at most one burst, which the caller waits for.
    private let lines = (0..<connections).map { _ in AsyncStream<[UInt8]>.makeStream() }

    init(_ channel: String) { self.channel = channel }

    /// How many the server has acknowledged.
    var count: Int { state.update { $0.acknowledged.count } }
    /// The ids that the server has acknowledged.
    var acknowledged: Set<EntryID> { state.value.acknowledged }
    /// Whether everything that was given to the connections is acknowledged.
    var isEverythingStored: Bool { state.update { $0.acknowledged.count == $0.sent } }

    /// How many messages a second were stored in a burst, by the median of the bursts.
    var medianRate: Int {
        let rates = state.value.rates.sorted()
        return rates.isEmpty ? 0 : rates[rates.count / 2]
    }

    /// Distributes the next messages over the connections, in turn.
    func send(_ count: Int) {
        let first = state.update { state in
            defer { state.sent += count }
            state.burst = (count, .now)
            return state.sent + 1
        }
        for number in first..<(first + count) {
            lines[number % lines.count].continuation.yield(
                Array(#"{"text":"Message \#(number) of the demo."}"#.utf8))
        }
    }

    /// Ends the input.
    func end() { for line in lines { line.continuation.finish() } }

    /// Publishes until ``end()`` was called and everything is acknowledged.
    func run(server: String) async throws {
        let channel = try ChannelName(channel)
        try await untilAllEnd(lines) { line in
            let queue = PublishQueue(channel: channel) { id, _ in self.acknowledged(id) }
            try await Publisher(server: server, dialer: NIODialer(), queue: queue).run(line.stream)
        }
    }

    private func acknowledged(_ id: EntryID) {
        state.update { state in
            state.acknowledged.insert(id)
            guard state.acknowledged.count == state.sent else { return }
            let seconds = (.now - state.burst.start).inSeconds
            state.rates.append(Int(Double(state.burst.messages) / max(seconds, 0.000_001)))
        }
    }
}
