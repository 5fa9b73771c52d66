import RepriseWire

/// Packs what is asked for into as few frames as the limits of a frame allow: nearly always one.
enum SubscribeFrames {
    /// What a range of a coverage takes at most, as JSON.
    private static let rangeBytes = 36
    /// What the rest of a channel takes at most.
    private static let channelBytes = WireLimits.channelNameBytes + WireLimits.epochBytes + 128
    /// Leaves room for the rest of the frame.
    private static let frameBytes = WireLimits.frameBytes - 1_024

    static func encoded(_ asks: [ClientFrame.Subscription]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var start = 0
        var bytes = 0
        for (index, ask) in asks.enumerated() {
            let size = channelBytes + rangeBytes * ask.coverage.ranges.count
            if index > start,
                bytes + size > frameBytes || index - start == WireLimits.channelsPerConnection
            {
                frames.append(ClientFrame.subscribe(Array(asks[start..<index])).encoded())
                (start, bytes) = (index, 0)
            }
            bytes += size
        }
        frames.append(ClientFrame.subscribe(Array(asks[start...])).encoded())
        return frames
    }
}
