import DequeModule
package import RepriseCore
package import RepriseWire

/// The window of unacknowledged messages: decides what is sent, repeated, and when it is full.
///
/// Each message names its predecessor, so the server stores them in order or not at all: a refusal
/// in the middle cannot reorder them. A message always keeps its id, so that a repetition stores
/// nothing twice.
package struct PublishWindow: Sendable {
    /// How many messages may be unacknowledged.
    ///
    /// The server reads on as long as it has no more than 1,024 of them.
    package static let messageLimit = 512
    /// How many may be on their way at least, however often the server refuses.
    package static let leastOnTheWay = 16
    /// How many bytes may be unacknowledged.
    package static let byteLimit = 1_048_576
    /// How much goes into one write.
    static let batchBytes = 65_536

    private struct Item {
        let id: EntryID
        let frame: [UInt8]
        var isDone = false
    }

    private var items: Deque<Item> = []
    /// The number of `items[0]`, counted from the first message of all.
    private var base = 0
    private var numbers: [EntryID: Int] = [:]
    private var bytes = 0
    private var cursor = 0
    private var previous: EntryID?
    private var failures = 0
    /// The number that may be in flight.
    ///
    /// A refusal halves it, as all behind the refused one were sent in vain; each stored one raises
    /// it by one.
    private var width = messageLimit

    private let channel: ChannelName

    package private(set) var acknowledged = 0
    package private(set) var firstSequence: Int64?
    package private(set) var lastSequence: Int64?
    /// How often a message was sent again.
    package private(set) var repeated = 0

    package init(channel: ChannelName) { self.channel = channel }

    /// Whether another message may be admitted.
    package var hasRoom: Bool { items.count < Self.messageLimit && bytes < Self.byteLimit }
    /// Whether all admitted messages are acknowledged.
    package var isEmpty: Bool { items.isEmpty }
    /// How many were admitted.
    package var admitted: Int { base + items.count }

    /// Takes a message.
    ///
    /// - Returns: its id.
    @discardableResult
    package mutating func admit(_ body: [UInt8], id: EntryID = .random()) -> EntryID {
        let publish = ClientFrame.Publish(channel: channel, id: id, after: previous, body: body)
        let item = Item(id: id, frame: ClientFrame.publish(publish).encoded())
        numbers[id] = admitted
        items.append(item)
        bytes += item.frame.count
        previous = id
        return id
    }

    /// The next frames to send, in order; empty if none wait.
    package mutating func batch() -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var size = 0
        while cursor < admitted, cursor - base < width, size < Self.batchBytes {
            let item = items[cursor - base]
            cursor += 1
            if item.isDone { continue }
            frames.append(item.frame)
            size += item.frame.count
        }
        return frames
    }

    /// The server has stored a message.
    ///
    /// - Returns: whether that is news.
    package mutating func published(_ published: ServerFrame.Published) -> Bool {
        guard let number = numbers.removeValue(forKey: published.id) else { return false }
        failures = 0
        width = min(width + 1, Self.messageLimit)
        acknowledged += 1
        firstSequence = min(firstSequence ?? published.seq, published.seq)
        lastSequence = max(lastSequence ?? published.seq, published.seq)
        items[number - base].isDone = true
        var done = 0
        while done < items.count, items[done].isDone {
            bytes -= items[done].frame.count
            done += 1
        }
        items.removeFirst(done)
        base += done
        cursor = max(cursor, base)
        return true
    }

    /// The server has refused a message.
    ///
    /// - Parameters:
    ///   - refused: the server's frame.
    ///   - jitter: 0..<1.
    /// - Returns: how long to wait before sending continues; nil if the refusal is obsolete.
    /// - Throws: ``RepriseError`` `.refused` if a repetition is pointless.
    package mutating func refused(
        _ refused: ServerFrame.Refused, jitter: Double
    ) throws -> Duration? {
        guard let text = refused.id, let id = try? EntryID(text), let number = numbers[id] else {
            return nil
        }
        guard refused.code.isTemporary else {
            throw RepriseError(
                .refused, "The server refuses message \(number + 1): \(refused.message)",
                remedy: "\(acknowledged.grouped) messages before it are stored.")
        }
        // Those behind it were refused too, or will be: their predecessor is missing.
        guard number < cursor else { return nil }
        repeated += cursor - number
        cursor = number
        width = max(width / 2, Self.leastOnTheWay)
        // A refusal for want of a predecessor is the echo of the first one, and no failure of its
        // own.
        if refused.code != .predecessorMissing { failures += 1 }
        let wait = Backoff(base: .milliseconds(100), longest: .seconds(5))
            .delay(failures: failures, jitter: jitter)
        return max(refused.retryAfter ?? .zero, wait)
    }

    /// The connection has ended: everything unacknowledged may or may not be stored, and is sent
    /// again.
    package mutating func disconnected() {
        repeated += items[..<(cursor - base)].count { !$0.isDone }
        cursor = base
    }
}
