import RepriseCore
import RepriseWire

/// The messages of a channel of a ``MemoryServer``.
struct MemoryChannelLog {
    let epoch: Epoch
    private(set) var events: [ServerFrame.Event] = []
    /// Everything up to here is removed.
    private(set) var floor: Int64 = 0

    var head: Int64 { events.last?.seq ?? floor }

    init(epoch number: Int = 1) { epoch = Self.epoch(number) }

    static func epoch(_ number: Int) -> Epoch { (try? Epoch("e\(number)")) ?? .random() }

    func event(_ id: EntryID) -> ServerFrame.Event? { events.first { $0.id == id } }

    /// Appends a message, and deletes what it deletes.
    mutating func append(_ event: ServerFrame.Event) {
        if case .deletes(let target) = event.change {
            for place in events.indices
            where events[place].seq == target || events[place].change == .edits(target) {
                events[place].isDeleted = true
                events[place].body = Array("null".utf8)
            }
        }
        events.append(event)
    }

    /// Appends so many messages with their sequences as bodies.
    mutating func fill(_ channel: ChannelName, with count: Int) {
        for _ in 0..<count {
            let seq = head + 1
            events.append(
                ServerFrame.Event(
                    channel: channel, seq: seq, prev: seq - 1,
                    id: EntryID(unchecked: "\(channel)-\(seq)"),
                    time: WallTime(milliseconds: seq), body: Array("\(seq)".utf8)))
        }
    }

    mutating func trim(through sequence: Int64) {
        floor = min(max(floor, sequence), head)
        events.removeAll { [floor] in $0.seq <= floor }
    }

    /// A log of another epoch with so many of the oldest messages, under new sequences.
    func restored(as epoch: Int, keeping count: Int) -> MemoryChannelLog {
        var log = MemoryChannelLog(epoch: epoch)
        for event in events.prefix(count) {
            var event = event
            event.seq = log.head + 1
            event.prev = log.head
            log.events.append(event)
        }
        return log
    }
}
