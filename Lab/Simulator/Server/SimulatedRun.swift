import RepriseWire

/// A frame, and the bytes that the shipping encoder makes of it.
struct SimulatedFrame {
    let frame: ServerFrame
    let bytes: [UInt8]

    init(_ frame: ServerFrame) {
        self.frame = frame
        bytes = frame.encoded()
    }
}

/// Events of one channel from one commit, encoded once for all who listen: what `LiveRun` is, with
/// frames that can be told apart.
struct SimulatedRun {
    let channel: ChannelName
    /// What lies before the first event.
    let prev: Int64
    /// The sequence of the last event.
    private(set) var seq: Int64
    private(set) var frames: [SimulatedFrame] = []
    private(set) var byteCount = 0
    private var sequences: [Int64] = []

    /// The frames of the events beyond `sequence`.
    func frames(after sequence: Int64) -> ArraySlice<SimulatedFrame> {
        frames[(sequences.firstIndex { $0 > sequence } ?? frames.endIndex)...]
    }

    static func runs(
        of events: [ServerFrame.Event], bytesPerRun: Int, isWanted: (ChannelName) -> Bool
    ) -> [SimulatedRun] {
        var runs: [SimulatedRun] = []
        for event in events where isWanted(event.channel) {
            let open = runs.lastIndex { $0.channel == event.channel }
            if let open, runs[open].byteCount < bytesPerRun {
                runs[open].append(event)
            } else {
                var run = SimulatedRun(channel: event.channel, prev: event.prev, seq: event.prev)
                run.append(event)
                runs.append(run)
            }
        }
        return runs
    }

    private init(channel: ChannelName, prev: Int64, seq: Int64) {
        self.channel = channel
        self.prev = prev
        self.seq = seq
    }

    private mutating func append(_ event: ServerFrame.Event) {
        let frame = SimulatedFrame(.event(event))
        seq = event.seq
        byteCount += frame.bytes.count
        frames.append(frame)
        sequences.append(event.seq)
    }
}
