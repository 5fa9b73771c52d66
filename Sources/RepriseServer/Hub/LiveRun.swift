package import NIOCore
package import RepriseWire

/// Events of one channel from one commit, encoded once for all subscribers.
///
/// The frames are contiguous in one buffer: a subscriber costs one write for any number of events.
package struct LiveRun: Sendable {
    package let channel: ChannelName
    /// The sequence before the first event.
    package let prev: Int64
    /// The sequence of the last event.
    package private(set) var seq: Int64
    package private(set) var bytes: ByteBuffer
    /// The end of each event's frame.
    private var ends: [(seq: Int64, end: Int)] = []

    /// The number of events.
    package var count: Int { ends.count }

    /// The number of events beyond `sequence`.
    package func count(after sequence: Int64) -> Int { ends.count { $0.seq > sequence } }

    /// The frames of the events beyond `sequence`.
    package func bytes(after sequence: Int64) -> ByteBuffer {
        guard sequence >= prev else { return bytes }
        let start = ends.last { $0.seq <= sequence }?.end ?? bytes.readerIndex
        var rest = bytes
        rest.moveReaderIndex(to: start)
        return rest
    }

    /// Encodes the events of the `wanted` channels, in commit order.
    ///
    /// A run ends with the event that reaches `bytesPerRun`, which limits how far a write exceeds a
    /// connection's cap.
    package static func encode(
        _ events: [ServerFrame.Event], of wanted: Set<ChannelName>, bytesPerRun: Int = 131_072
    ) -> [LiveRun] {
        var runs: [LiveRun] = []
        var open: [ChannelName: (run: Int, encoder: EventEncoder)] = [:]
        for event in events where wanted.contains(event.channel) {
            if var entry = open[event.channel] {
                if runs[entry.run].bytes.readableBytes >= bytesPerRun {
                    entry.run = runs.count
                    open[event.channel] = entry
                    runs.append(LiveRun(before: event))
                }
                runs[entry.run].append(event, by: entry.encoder)
            } else {
                let encoder = EventEncoder(channel: event.channel)
                open[event.channel] = (runs.count, encoder)
                runs.append(LiveRun(before: event))
                runs[runs.count - 1].append(event, by: encoder)
            }
        }
        return runs
    }

    private init(before event: ServerFrame.Event) {
        channel = event.channel
        prev = event.prev
        seq = event.prev
        bytes = ByteBuffer()
    }

    private mutating func append(_ event: ServerFrame.Event, by encoder: EventEncoder) {
        encoder.write(event, to: &bytes)
        seq = event.seq
        ends.append((event.seq, bytes.writerIndex))
    }
}
