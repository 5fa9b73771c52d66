import Foundation
import RepriseCore
import RepriseWire

/// The hot envelope, read and written by our scanner and by Foundation.
enum Codec {
    private struct Plain: Codable {
        var type: String
        var channelId: String
        var seq: Int64
        var id: String
        var timestamp: Int64
        var body: String
    }

    /// - Returns: nanoseconds for each envelope: ours and Foundation's, written and read.
    static func run(rounds: Int = 200_000) throws -> (
        written: (ours: Double, foundation: Double), read: (ours: Double, foundation: Double)
    ) {
        let event = ServerFrame.Event(
            channel: try ChannelName("general"), seq: 123_456, prev: 123_455,
            id: try EntryID("0123456789abcdef0123456789abcdef"),
            time: WallTime(milliseconds: 1_765_869_151_000),
            body: Array("\"\(String(repeating: "x", count: 126))\"".utf8))
        let plain = Plain(
            type: "event", channelId: "general", seq: 123_456, id: event.id.text,
            timestamp: 1_765_869_151_000, body: String(repeating: "x", count: 126))
        let bytes = event.encoded()
        let data = Data(bytes)
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        var frames = FrameDecoder()
        var sum = 0
        let written = (
            ours: time(rounds) { sum &+= event.encoded().count },
            foundation: try time(rounds / 10) { sum &+= try encoder.encode(plain).count }
        )
        let read = (
            ours: try time(rounds) {
                if case .event(let event) = try frames.serverFrame(bytes) {
                    sum &+= event.body.count
                }
            },
            foundation: try time(rounds / 10) {
                sum &+= try decoder.decode(Plain.self, from: data).body.utf8.count
            }
        )
        guard sum > 0 else { throw BenchmarkError("nothing was encoded") }
        return (written, read)
    }

    private static func time(_ rounds: Int, _ body: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        for _ in 0..<rounds { try body() }
        return (clock.now - start).inSeconds * 1e9 / Double(rounds)
    }
}
