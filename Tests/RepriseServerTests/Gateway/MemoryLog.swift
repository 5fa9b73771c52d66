import RepriseCore
import RepriseServer
import RepriseWire
import Synchronization

/// A message log in memory that can be made to hesitate, to fail and to leave holes.
final class MemoryLog: MessageLog {
    struct State {
        var channels: [ChannelName: [ServerFrame.Event]] = [:]
        var heads: [ChannelName: Int64] = [:]
        var floors: [ChannelName: Int64] = [:]
        var ids: [EntryID: (ChannelName, Int64)] = [:]
        var epoch: Epoch
        /// Of the message before the first, in milliseconds.
        var time: Int64 = 1_700_000_000_000
        /// The next appends store, and then say that they failed.
        var failures = 0
        var readFailures = 0
        var appendDelay: Duration?
        var readDelay: Duration?
        /// How long the next state is on its way once it is read.
        var stateDelay: Duration?
        /// Sequences to leave out before the next message.
        var gap: Int64 = 0
        var isClosed = false
        var readers = 0
        /// How many reads there were.
        var reads = 0
        /// The most reads that were under way at a time.
        var mostReaders = 0
    }

    let state: Mutex<State>

    init(epoch: String = "e1") throws { state = Mutex(State(epoch: try Epoch(epoch))) }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    func append(_ batch: [NewMessage]) async throws -> [AppendResult] {
        if let delay = state.withLock({ $0.appendDelay }) { try await Task.sleep(for: delay) }
        return try state.withLock { state in
            let results = batch.map { Self.store($0, in: &state) }
            guard state.failures == 0 else {
                state.failures -= 1
                throw RepriseError(.diskFailed, "The disk failed, as the test wants.")
            }
            return results
        }
    }

    private static func store(_ message: NewMessage, in state: inout State) -> AppendResult {
        if let (channel, seq) = state.ids[message.id] {
            return channel == message.channel
                ? .duplicate(seq: seq) : .refused(.conflict, "Another channel has this id.")
        }
        if let after = message.after, state.ids[after] == nil {
            return .refused(.predecessorMissing, "It is not stored yet.")
        }
        let prev = state.heads[message.channel] ?? 0
        let seq = prev + 1 + state.gap
        state.gap = 0
        let event = ServerFrame.Event(
            channel: message.channel, seq: seq, prev: prev, id: message.id,
            time: WallTime(milliseconds: state.time + seq), from: message.from,
            body: message.body)
        state.channels[message.channel, default: []].append(event)
        state.heads[message.channel] = seq
        state.ids[message.id] = (message.channel, seq)
        return .stored(event)
    }

    func probe() async throws {}

    func state(of channel: ChannelName) async throws -> LogChannelState {
        try await hesitate()
        let (found, delay) = state.withLock { state in
            (Self.state(of: channel, state), state.stateDelay.take())
        }
        if let delay { try await Task.sleep(for: delay) }
        return found
    }

    func head(of channel: ChannelName) -> Int64 { state.withLock { $0.heads[channel] ?? 0 } }

    private static func state(of channel: ChannelName, _ state: State) -> LogChannelState {
        LogChannelState(
            epoch: state.epoch, head: state.heads[channel] ?? 0, floor: state.floors[channel] ?? 0)
    }

    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage {
        try await hesitate()
        return state.withLock { state in
            let now = Self.state(of: channel, state)
            var page = LogPage(events: [], gone: [], state: now, through: 0)
            var bytes = 0
            for range in missing {
                if let lost = SequenceRange(
                    after: range.after, through: min(range.through, now.floor))
                {
                    page.gone.append(Gone(range: lost, reason: .retention))
                }
                let events = state.channels[channel] ?? []
                let first = events.partitioningIndex { $0.seq > max(range.after, now.floor) }
                for event in events[first...] {
                    guard event.prev < range.through else { break }
                    guard page.events.count < limit, bytes < byteLimit else { return page }
                    page.events.append(event)
                    page.through = event.seq
                    bytes += event.body.count
                }
                page.through = max(page.through, range.through)
            }
            return page
        }
    }

    func unread(
        of user: UserID, in channel: ChannelName, after: Int64
    ) async throws -> Unread {
        let page = try await history(of: channel, after: after, limit: .max)
        let unread = page.events.filter { $0.from != user && $0.change == nil && !$0.isDeleted }
        return Unread(count: Int64(unread.count), head: page.state.head)
    }

    func trim(_ channel: ChannelName, through: Int64) async throws -> LogChannelState {
        state.withLock { state in
            let floor = min(through, state.heads[channel] ?? 0)
            state.floors[channel] = max(floor, state.floors[channel] ?? 0)
            state.channels[channel]?.removeAll { $0.seq <= floor }
            return Self.state(of: channel, state)
        }
    }

    func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws {}

    func close() async { state.withLock { $0.isClosed = true } }

    private func hesitate() async throws {
        state.withLock { state in
            state.readers += 1
            state.reads += 1
            state.mostReaders = max(state.mostReaders, state.readers)
        }
        defer { state.withLock { $0.readers -= 1 } }
        if let delay = state.withLock({ $0.readDelay }) { try await Task.sleep(for: delay) }
        try state.withLock { state in
            guard state.readFailures > 0 else { return }
            state.readFailures -= 1
            throw RepriseError(.diskFailed, "The disk failed, as the test wants.")
        }
    }
}

extension Array {
    fileprivate func partitioningIndex(where isAfter: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
