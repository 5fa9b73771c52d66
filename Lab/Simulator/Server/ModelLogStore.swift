package import RepriseCore
package import RepriseServer
package import RepriseWire

/// The log of tier (a): a ``LogModel``, and what a disk makes of its commits.
package final class ModelLogStore: LogStore {

    package private(set) var model: LogModel
    /// What a commit left behind whose sync failed, with its events.
    private var unsynced: (model: LogModel, events: [ServerFrame.Event])?
    private var backup: LogModel?
    private let empty: LogModel
    private let mutation: Mutation?
    /// What a power loss leaves of a log that is not synced: mutation `serverSkipsSync`.
    private var synced: LogModel?
    /// Ids that are believed to be stored: mutation `keepHeadsAfterFailedCommit`.
    private var believed: [EntryID: AppendResult] = [:]

    package init(_ model: LogModel, mutation: Mutation? = nil) {
        var model = model
        model.keepsDeletedBodies = mutation == .deletionKeepsBody
        self.model = model
        self.mutation = mutation
        empty = model
        if mutation == .serverSkipsSync { synced = model }
    }

    package func append(
        _ batch: [NewMessage], now: WallTime, fate: Fate
    ) throws -> [AppendResult] {
        if !believed.isEmpty { return try appendBelieving(batch, now, fate) }
        guard model.stores(batch) else { return model.append(batch, now: now) }
        switch fate() {
        case .done:
            unsynced = nil
            return model.append(batch, now: now)
        case .full:
            try believe(batch, now)
            throw Self.full
        case .syncFailed:
            var next = model
            let results = next.append(batch, now: now)
            unsynced = (next, results.flatMap(\.events))
            try believe(batch, now)
            throw Self.failed
        }
    }

    private func believe(_ batch: [NewMessage], _ now: WallTime) throws {
        guard mutation == .keepHeadsAfterFailedCommit else { return }
        var next = model
        for event in next.append(batch, now: now).flatMap(\.events) {
            believed[event.id] = .duplicate(seq: event.seq)
        }
    }

    /// Wrong: an id that memory knows from a failed commit is answered as if it were stored.
    private func appendBelieving(
        _ batch: [NewMessage], _ now: WallTime, _ fate: Fate
    ) throws -> [AppendResult] {
        let kept = believed
        let unknown = batch.filter { kept[$0.id] == nil }
        believed = [:]
        defer { believed.merge(kept) { new, _ in new } }
        var results = try append(unknown, now: now, fate: fate)[...]
        return batch.map { kept[$0.id] ?? results.removeFirst() }
    }

    package func preview(_ batch: [NewMessage], now: WallTime) throws -> [AppendResult] {
        var next = model
        return next.append(batch, now: now)
    }

    package func state(of channel: ChannelName) -> LogChannelState { model.state(of: channel) }

    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) -> LogPage {
        model.page(of: channel, missing: missing, limit: limit, byteLimit: byteLimit)
    }

    package func trim(_ policy: RetentionPolicy, now: WallTime, fate: Fate) throws {
        guard model.trims(policy, now: now) else { return }
        let leavingFloor = mutation == .trimWithoutFloor
        switch fate() {
        case .done:
            unsynced = nil
            model.trim(policy, now: now, leavingFloor: leavingFloor)
        case .full: throw Self.full
        case .syncFailed:
            var next = model
            next.trim(policy, now: now, leavingFloor: leavingFloor)
            unsynced = (next, [])
            throw Self.failed
        }
    }

    package func crash(losingPower: Bool, keepsUnsynced: Bool) -> [ServerFrame.Event] {
        var found: [ServerFrame.Event] = []
        if let unsynced, keepsUnsynced { (model, found) = unsynced }
        unsynced = nil
        believed = [:]
        if let synced {
            if losingPower { model = synced }
            self.synced = model
        }
        if mutation == .forgetIDs { model.forgetIDs() }
        return found
    }

    package func backUp() { backup = model }

    package func restore(epoch: Epoch?) {
        model = backup ?? empty
        if let epoch { model.mint(epoch) }
        begin()
    }

    package func replace(epoch: Epoch) {
        model = empty
        model.mint(epoch)
        backup = nil
        begin()
    }

    private func begin() {
        unsynced = nil
        believed = [:]
        if synced != nil { synced = model }
    }

    package func dump() -> [String] { model.dump() }

    static let full = RepriseError(.diskFull, "The simulated disk is full.")
    static let failed = RepriseError(.diskFailed, "The simulated disk failed a sync.")
}
