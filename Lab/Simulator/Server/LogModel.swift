package import RepriseCore
package import RepriseServer
package import RepriseWire

/// What the SQLite log stores, as a value: the shipping rules over arrays.
package struct LogModel: Sendable {
    struct Channel: Sendable {
        let name: ChannelName
        var head: AppendRules.Head
        var floor: Int64 = 0
        /// In order of their sequences.
        var events: [ServerFrame.Event] = []
    }

    struct Run: Sendable {
        let number: Int
        let newest: WallTime
        var ids: [EntryID]
    }

    /// Ids that are written into a run, some with each commit.
    struct Sealing: Sendable {
        let number: Int
        /// In order of arrival.
        let ids: [EntryID]
        let sorted: [EntryID]
        var written = 0
    }

    package private(set) var epoch: Epoch
    private(set) var channels: [Channel] = []
    private var indices: [ChannelName: Int] = [:]
    private(set) var known: [EntryID: AppendRules.Known] = [:]
    /// What was buried and has not come.
    private var awaited: Set<AppendRules.Position> = []
    /// Ids in order of arrival, until they are a run.
    private(set) var recent: [EntryID] = []
    private(set) var sealing: Sealing?
    private(set) var runs: [Run] = []
    private let idsPerRun: Int
    private let idLife: Duration
    /// Wrong: a deletion leaves the bodies where they are.
    var keepsDeletedBodies = false

    package init(
        epoch: Epoch, idsPerRun: Int = 65_536, idLife: Duration = .seconds(30 * 86_400)
    ) {
        self.epoch = epoch
        self.idsPerRun = idsPerRun
        self.idLife = idLife
    }

    func index(of channel: ChannelName) -> Int? { indices[channel] }

    // MARK: Appending

    /// Whether anything of the batch would be stored; a transaction that changes nothing is no
    /// commit.
    package func stores(_ batch: [NewMessage]) -> Bool {
        batch.contains { message in
            if case .answer = decide(message) { false } else { true }
        }
    }

    private func decide(_ message: NewMessage) -> AppendRules.Decision {
        AppendRules.decide(
            message, in: indices[message.channel].map { channels[$0].head },
            known: { known[$0] }, awaits: { awaited.contains($0) },
            target: { target(at: $0) })
    }

    private func target(at position: AppendRules.Position) -> AppendRules.Target? {
        let events = channels[Int(position.channel) - 1].events
        let index = Self.firstIndex(in: events, beyond: position.seq - 1)
        guard index < events.count, events[index].seq == position.seq else { return nil }
        let kind: AppendRules.Target.Kind =
            switch events[index].change {
            case .edits?: .edit
            case .deletes?: .deletion
            case nil: .message
            }
        return AppendRules.Target(
            from: events[index].from, kind: kind, isDeleted: events[index].isDeleted)
    }

    package mutating func append(_ batch: [NewMessage], now: WallTime) -> [AppendResult] {
        var newest = now
        let before = recent.count
        var results: [AppendResult] = []
        results.reserveCapacity(batch.count)
        for message in batch {
            let result = append(message, decide(message), now: now)
            newest = max(newest, result.event?.time ?? newest)
            results.append(result)
        }
        seal(newest: newest, inserted: recent.count - before)
        return results
    }

    private mutating func append(
        _ message: NewMessage, _ decision: AppendRules.Decision, now: WallTime
    ) -> AppendResult {
        switch decision {
        case .answer(let result): return result
        case .arrived(let position):
            awaited.remove(position)
            return .duplicate(seq: position.seq)
        case .store, .bury: break
        }
        let index = indexMade(for: message.channel, now: now)
        switch decision {
        case .answer(let result): return result
        case .arrived(let position): return .duplicate(seq: position.seq)
        case .store(let change):
            let event = channels[index].head.take(message, change, now: now)
            add(event, of: event.from, to: index)
            if case .deletes(let target) = change { blank(target, in: index) }
            return .stored(event)
        case .bury(let id):
            let target = channels[index].head.bury(id, by: message, now: now)
            let deletion = channels[index].head.take(message, .deletes(target.seq), now: now)
            add(target, of: AppendRules.owner(ofBuriedBy: message), to: index)
            add(deletion, of: deletion.from, to: index)
            awaited.insert(.init(channel: Int64(index + 1), seq: target.seq))
            return .buried(target: target, deletion: deletion)
        }
    }

    private mutating func add(_ event: ServerFrame.Event, of owner: UserID?, to index: Int) {
        channels[index].events.append(event)
        known[event.id] = .init(
            .init(channel: Int64(index + 1), seq: event.seq), owner: AppendRules.owner(owner))
        recent.append(event.id)
    }

    /// A deletion takes the bodies of its target and of the target's edits away.
    private mutating func blank(_ target: Int64, in index: Int) {
        guard !keepsDeletedBodies else { return }
        for (place, event) in channels[index].events.enumerated()
        where !event.isDeleted && (event.seq == target || event.change == .edits(target)) {
            channels[index].events[place].isDeleted = true
            channels[index].events[place].body = AppendRules.nothing
            channels[index].head.bytes += Int64(AppendRules.nothing.count - event.body.count)
        }
    }

    private mutating func indexMade(for channel: ChannelName, now: WallTime) -> Int {
        if let index = indices[channel] { return index }
        let index = channels.count
        indices[channel] = index
        channels.append(
            Channel(
                name: channel,
                head: .init(key: Int64(index + 1), seq: 0, count: 0, bytes: 0, time: now)))
        return index
    }

    /// As `KnownIDs` does it; a run that is written is one from its last slice on.
    private mutating func seal(newest: WallTime, inserted: Int) {
        guard inserted > 0 else { return }
        if sealing == nil, recent.count >= idsPerRun {
            let sorted = recent.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
            sealing = Sealing(
                number: (runs.last?.number ?? 0) + 1, ids: recent, sorted: sorted)
            recent = []
        }
        guard var current = sealing else { return }
        current.written = min(
            current.written + max(inserted, idsPerRun / 128), current.sorted.count)
        sealing = current
        guard current.written == current.sorted.count else { return }
        runs.append(Run(number: current.number, newest: newest, ids: current.sorted))
        sealing = nil
    }

    // MARK: Reading

    package func state(of channel: ChannelName) -> LogChannelState {
        guard let index = indices[channel] else {
            return LogChannelState(epoch: epoch, head: 0, floor: 0)
        }
        return LogChannelState(
            epoch: epoch, head: channels[index].head.seq, floor: channels[index].floor)
    }

    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) -> LogPage {
        let state = state(of: channel)
        guard let index = indices[channel] else {
            return LogPage(events: [], gone: [], state: state, through: 0)
        }
        let events = channels[index].events
        var tiling = Tiling(state: state, limit: max(limit, 1), byteLimit: byteLimit)
        for range in missing where tiling.begin(range) {
            var next = Self.firstIndex(in: events, beyond: tiling.position)
            while tiling.needsRow {
                guard next < events.count else {
                    tiling.rowsEnded()
                    break
                }
                let event = events[next]
                guard tiling.accepts(prev: event.prev, bytes: event.body.count) else { break }
                tiling.add(event)
                next += 1
            }
            if tiling.isFull { break }
        }
        return tiling.page
    }

    private static func firstIndex(
        in events: [ServerFrame.Event], beyond sequence: Int64
    ) -> Int {
        var (low, high) = (0, events.count)
        while low < high {
            let middle = (low + high) / 2
            if events[middle].seq <= sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Trimming

    /// How many of each channel's messages the policy takes away.
    private func excess(_ policy: RetentionPolicy, now: WallTime) -> [Int] {
        let cut = policy.age.map { now.advanced(by: .zero - $0) }
        return channels.map { channel in
            let count = channel.events.count
            let over = policy.count.map { max(count - Int(max($0, 0)), 0) } ?? 0
            let old =
                cut.map { cut in channel.events.firstIndex { $0.time >= cut } ?? count } ?? 0
            let excess = policy.bytes.map { channel.head.bytes - max($0, 0) } ?? 0
            return max(over, old, Self.count(of: channel.events, with: excess))
        }
    }

    /// How many of the oldest have so many bytes, or more.
    private static func count(of events: [ServerFrame.Event], with bytes: Int64) -> Int {
        var (count, found): (Int, Int64) = (0, 0)
        while found < bytes, count < events.count {
            found += Int64(events[count].body.count)
            count += 1
        }
        return count
    }

    private func forgettableRun(now: WallTime) -> Int? {
        let limit = now.advanced(by: .zero - idLife)
        return runs.firstIndex { run in
            run.newest < limit
                && !run.ids.contains { id in
                    guard let position = known[id]?.position else { return false }
                    return position.seq > channels[Int(position.channel) - 1].floor
                }
        }
    }

    /// Whether ``trim(_:now:leavingFloor:)`` would change anything.
    package func trims(_ policy: RetentionPolicy, now: WallTime) -> Bool {
        excess(policy, now: now).contains { $0 > 0 } || forgettableRun(now: now) != nil
    }

    /// With `leavingFloor`, which is wrong, the messages go and the floor does not say so.
    package mutating func trim(
        _ policy: RetentionPolicy, now: WallTime, leavingFloor: Bool = false
    ) {
        for (index, count) in excess(policy, now: now).enumerated() where count > 0 {
            let last = channels[index].events[count - 1].seq
            let bytes = channels[index].events.prefix(count).reduce(0) { $0 + $1.body.count }
            channels[index].events.removeFirst(count)
            channels[index].head.count -= Int64(count)
            channels[index].head.bytes -= Int64(bytes)
            if !leavingFloor { channels[index].floor = last }
        }
        while let index = forgettableRun(now: now) {
            for id in runs.remove(at: index).ids { known[id] = nil }
        }
    }

    // MARK: Otherwise

    package mutating func mint(_ epoch: Epoch) { self.epoch = epoch }

    /// Wrong: what makes publishing idempotent is gone.
    mutating func forgetIDs() {
        known = [:]
        recent = []
        sealing = nil
        runs = []
    }

    /// As `SteppedLog.dump()` writes it.
    package func dump() -> [String] {
        var lines = ["log \(epoch)"]
        for channel in channels {
            let head = channel.head
            lines.append(
                "channel \(head.key) \(channel.name) \(head.seq) \(channel.floor) \(head.count) "
                    + "\(head.bytes) \(head.time.milliseconds)")
        }
        for channel in channels {
            for event in channel.events {
                lines.append(
                    "message \(channel.head.key) \(event.seq) \(event.prev) \(event.id) "
                        + "\(event.time.milliseconds) \(event.from?.text ?? "null") "
                        + Self.text(event.change) + (event.isDeleted ? " 1 " : " null ")
                        + Self.hex(event.body))
            }
        }
        let unsealed = (sealing?.ids ?? []) + recent
        lines += unsealed.map { "recent \($0) " + position(of: $0) }
        lines += runs.map { "run \($0.number) \($0.newest.milliseconds)" }
        for run in runs {
            lines += run.ids.map { "id \(run.number) \($0) " + position(of: $0) }
        }
        if let sealing {
            lines += sealing.sorted.prefix(sealing.written)
                .map { "id \(sealing.number) \($0) " + position(of: $0) }
        }
        lines += awaited.sorted { ($0.channel, $0.seq) < ($1.channel, $1.seq) }
            .map { "awaited \($0.channel) \($0.seq)" }
        return lines
    }

    private func position(of id: EntryID) -> String {
        (known[id]?.position).map { "\($0.channel) \($0.seq)" } ?? "nowhere"
    }

    private static func text(_ change: MessageChange<Int64>?) -> String {
        switch change {
        case .edits(let target)?: "1 \(target)"
        case .deletes(let target)?: "2 \(target)"
        case nil: "null null"
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
