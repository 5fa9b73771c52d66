import DequeModule
import RepriseServer

/// What a simulated connection sends, until the peer has taken it: in virtual time what
/// `ConnectionOutput` is in real time.
struct SimulatedOutput {
    private var outbox: [[UInt8]] = []
    private var outboxBytes = 0
    private(set) var isWritable = true
    /// Bytes given to the network since the beginning.
    private(set) var written = 0
    /// Where pages end in what was written, that the peer has not taken yet.
    private var pageEnds: Deque<Int> = []

    var isEmpty: Bool { outbox.isEmpty }
    /// Whether something waits for the peer to take bytes.
    var isTakenAwaited: Bool { !isWritable || !pageEnds.isEmpty }

    mutating func append(
        _ frames: ArraySlice<SimulatedFrame>, unsent: Int, _ limits: ServerLimits
    ) {
        for frame in frames { outboxBytes += frame.bytes.count }
        outbox.append(contentsOf: frames.map(\.bytes))
        if unsent + outboxBytes > limits.unsentBytes { isWritable = false }
    }

    /// The frames are a page, and are appended next.
    mutating func expectPage(_ frames: [SimulatedFrame]) {
        pageEnds.append(written + outboxBytes + frames.reduce(0) { $0 + $1.bytes.count })
    }

    /// - Returns: what goes to the network now.
    mutating func flush() -> [[UInt8]] {
        defer { (outbox, outboxBytes) = ([], 0) }
        written += outboxBytes
        return outbox
    }

    /// - Returns: how many pages have been taken with the first `count` bytes.
    mutating func pagesTaken(by count: Int) -> Int {
        let pages = pageEnds.prefix { $0 <= count }.count
        pageEnds.removeFirst(pages)
        return pages
    }

    /// - Returns: whether it can be written again, and could not before.
    mutating func resumes(unsent: Int, _ limits: ServerLimits) -> Bool {
        guard !isWritable, unsent + outboxBytes < limits.unsentBytesToResume else { return false }
        isWritable = true
        return true
    }
}
