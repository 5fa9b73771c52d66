import RepriseWire

/// Packs requests into as few frames as a frame's limits allow: nearly always one.
enum SubscribeFrames {
    /// The most bytes of a coverage's range, as JSON.
    private static let rangeBytes = 36
    /// The most bytes of a channel's other fields.
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
