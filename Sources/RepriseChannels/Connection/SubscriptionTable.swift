import RepriseCore
import RepriseWire

/// All subscribed channels: passes each what concerns it, and stages what it decides.
struct SubscriptionTable: Sendable {
    /// Frames that were read together: what they change, and which channels they are for.
    struct Reading {
        let now: Duration
        let jitter: Double
        fileprivate(set) var batch = StagedBatch()
        fileprivate var touched: [Int] = []
        /// The channel of the last event: a catch-up names the same one a thousand times.
        fileprivate var current: (channel: ChannelName, place: Int)?

        init(at now: Duration, jitter: Double) { (self.now, self.jitter) = (now, jitter) }
    }

    private let settings: SubscriptionMachine.Settings
    /// In the order in which they were made: nothing here depends on an order of hashes.
    private var subscriptions: [Subscription] = []
    private var places: [ChannelName: Int] = [:]
    private var positions: [ChannelName: LogPosition] = [:]
    /// Visible channels.
    private var onScreen: Set<ChannelName> = []
    /// Channels for which the app loads snapshots.
    private var snapshotChannels: Set<ChannelName> = []
    /// Channels to request with the next frame.
    private var asks: [ClientFrame.Subscription] = []
    /// A subscription has given this connection up.
    private var wantsReconnect = false
    /// Frames that are unreadable, or belong to none of the channels.
    private(set) var unroutableFrames: Int64 = 0

    init(settings: SubscriptionMachine.Settings) { self.settings = settings }

    var count: Int { subscriptions.count }
    var channels: [ChannelName] { subscriptions.map(\.channel) }

    func contains(_ channel: ChannelName) -> Bool { places[channel] != nil }

    func machine(of channel: ChannelName) -> SubscriptionMachine? {
        places[channel].map { subscriptions[$0].machine }
    }

    func diagnostics(of channel: ChannelName, at now: Duration) -> ChannelDiagnostics? {
        guard let place = places[channel] else { return nil }
        let (machine, tally) = (subscriptions[place].machine, subscriptions[place].tally)
        var diagnostics = ChannelDiagnostics(state: machine.state)
        diagnostics.epoch = machine.epoch
        diagnostics.coverage = machine.coverage
        diagnostics.head = max(machine.knownHead, machine.coverage.top)
        diagnostics.missing = machine.missing
        diagnostics.received = tally.received
        diagnostics.duplicates = tally.duplicates
        diagnostics.rate = tally.rate(at: now)
        diagnostics.repairs = tally.repairs
        diagnostics.requests = tally.requests
        diagnostics.sinceLastEvent = tally.lastEvent.map { now - $0 }
        diagnostics.lastError = tally.lastError
        return diagnostics
    }

    // MARK: Subscribing

    /// A caller wants a channel; `stored` is its state in the journal.
    mutating func add(
        _ channel: ChannelName, stored: ChannelStore.Stored?, isConnected: Bool, at now: Duration,
        _ output: inout ChannelsOutput
    ) {
        guard places[channel] == nil else { return }
        var machine = SubscriptionMachine(
            epoch: stored?.epoch, coverage: stored?.coverage ?? Coverage(), head: stored?.head ?? 0,
            snapshot: stored?.snapshot, settings: settings)
        if snapshotChannels.contains(channel) { _ = machine.snapshotsWanted() }
        let place = subscriptions.count
        subscriptions.append(Subscription(channel: channel, machine: machine))
        places[channel] = place
        positions[channel] = stored?.position
        perform(of: place, &output) { isConnected ? $0.connected(at: now) : $0.disconnected() }
    }

    mutating func remove(_ channel: ChannelName, _ output: inout ChannelsOutput) -> Bool {
        guard let place = places[channel] else { return false }
        subscriptions.remove(at: place)
        places = [:]
        for (place, subscription) in subscriptions.enumerated() {
            places[subscription.channel] = place
        }
        positions[channel] = nil
        asks.removeAll { $0.channel == channel }
        output.cancel(.channel(channel))
        output.emit(.enter(channel, .closed))
        output.emit(.send([ClientFrame.unsubscribe([channel]).encoded()]))
        return true
    }

    /// The user may be a member of a refused channel now.
    mutating func wantedAgain(
        _ channel: ChannelName, at now: Duration, _ output: inout ChannelsOutput
    ) {
        guard let place = places[channel] else { return }
        perform(of: place, &output) { $0.wantedAgain(at: now) }
    }

    // MARK: The screen

    /// It is caught up before the others, even during a catch-up.
    mutating func appeared(
        _ channel: ChannelName, at now: Duration, _ output: inout ChannelsOutput
    ) {
        guard onScreen.insert(channel).inserted, let place = places[channel] else { return }
        let others = subscriptions.indices.contains {
            $0 != place && subscriptions[$0].machine.isCatchingUp
        }
        if others { perform(of: place, &output) { $0.askedAgain(at: now) } }
    }

    mutating func disappeared(_ channel: ChannelName) { onScreen.remove(channel) }

    // MARK: Snapshots

    mutating func snapshotsWanted(_ channel: ChannelName, _ output: inout ChannelsOutput) {
        guard snapshotChannels.insert(channel).inserted, let place = places[channel] else { return }
        perform(of: place, &output) { $0.snapshotsWanted() }
    }

    /// - Returns: what has to be written; nil if nobody wants the channel.
    mutating func snapshotTaken(
        _ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName, at now: Duration,
        _ output: inout ChannelsOutput
    ) -> StagedBatch? {
        guard let place = places[channel] else { return nil }
        perform(of: place, &output) { $0.snapshotTaken(snapshot, at: now) }
        var batch = StagedBatch()
        cut(place, into: &batch)
        return batch
    }

    mutating func snapshotFailed(
        _ error: any Error, of channel: ChannelName, _ output: inout ChannelsOutput
    ) {
        guard let place = places[channel] else { return }
        subscriptions[place].tally.lastError = "\(error)"
        perform(of: place, &output) { $0.snapshotFailed() }
    }

    // MARK: The connection

    /// Shows each state, or that all are closed.
    func show(isClosed: Bool, _ output: inout ChannelsOutput) {
        for subscription in subscriptions {
            output.emit(
                .enter(subscription.channel, isClosed ? .closed : subscription.machine.state))
        }
    }

    mutating func connected(at now: Duration, _ output: inout ChannelsOutput) {
        for place in subscriptions.indices {
            perform(of: place, &output) { $0.connected(at: now) }
        }
    }

    /// Requests and staged changes are forgotten.
    mutating func disconnected(_ output: inout ChannelsOutput) {
        asks = []
        wantsReconnect = false
        for place in subscriptions.indices {
            subscriptions[place].drop()
            // Its other actions were meant for a connection that is gone.
            for case .enter(let state) in subscriptions[place].machine.disconnected() {
                output.emit(.enter(subscriptions[place].channel, state))
            }
        }
    }

    /// The driver has ended.
    mutating func stopped() {
        for place in subscriptions.indices { subscriptions[place].machine.stopped() }
    }

    mutating func timerFired(
        _ channel: ChannelName, at now: Duration, _ output: inout ChannelsOutput
    ) {
        guard let place = places[channel] else { return }
        perform(of: place, &output) { $0.timerFired(at: now) }
    }

    mutating func takeReconnect() -> Bool {
        defer { wantsReconnect = false }
        return wantsReconnect
    }

    /// Sends the collected requests.
    mutating func flush(_ output: inout ChannelsOutput) {
        guard !asks.isEmpty else { return }
        output.emit(.send(SubscribeFrames.encoded(asks)))
        asks = []
    }

    // MARK: Frames

    /// A frame that nobody can read; what it would have covered stays a hole, and is asked for
    /// again.
    mutating func noteUnreadable() { unroutableFrames += 1 }

    /// The hot path.
    mutating func receive(_ event: ServerFrame.Event, _ reading: inout Reading) {
        if reading.current?.channel != event.channel {
            reading.current = places[event.channel].map { (event.channel, $0) }
        }
        guard let place = reading.current?.place else {
            unroutableFrames += 1
            return
        }
        touch(place, &reading)
        subscriptions[place].receive(event)
    }

    private mutating func touch(_ place: Int, _ reading: inout Reading) {
        guard !subscriptions[place].isTouched else { return }
        subscriptions[place].isTouched = true
        reading.touched.append(place)
    }

    mutating func receive(
        heads: [ChannelName: Int64], at now: Duration, _ output: inout ChannelsOutput
    ) {
        for (channel, head) in heads.sorted(by: { $0.key < $1.key }) {
            guard let place = places[channel] else { continue }
            perform(of: place, &output) { $0.heartbeatReceived(head: head, at: now) }
        }
    }

    mutating func receive(
        _ subscribed: ServerFrame.Subscribed, _ reading: inout Reading,
        _ output: inout ChannelsOutput
    ) {
        // Earlier frames belong to the earlier positions.
        if let place = places[subscribed.channel] {
            subscriptions[place].cut(into: &reading.batch)
        }
        let now = reading.now
        receive(subscribed.channel.text, &reading, &output) {
            $0.subscribedReceived(subscribed, at: now)
        }
    }

    /// Passes a frame to its channel's machine, and stages the coverage if that has changed.
    mutating func receive(
        _ channel: String?, _ reading: inout Reading, _ output: inout ChannelsOutput,
        _ input: (inout SubscriptionMachine) -> [SubscriptionMachine.Action]
    ) {
        guard let channel, let name = try? ChannelName(channel), let place = places[name] else {
            unroutableFrames += 1
            return
        }
        touch(place, &reading)
        let revision = subscriptions[place].machine.revision
        perform(of: place, &output, input)
        if subscriptions[place].machine.revision != revision { subscriptions[place].stage { _ in } }
    }

    /// All frames have been read.
    mutating func finish(_ reading: inout Reading, _ output: inout ChannelsOutput) {
        let (now, jitter) = (reading.now, reading.jitter)
        for place in reading.touched {
            subscriptions[place].isTouched = false
            subscriptions[place].tally.batchRead(at: now)
            perform(of: place, &output) { $0.batchRead(at: now, jitter: jitter) }
            cut(place, into: &reading.batch)
        }
    }

    private mutating func cut(_ place: Int, into batch: inout StagedBatch) {
        subscriptions[place].cut(into: &batch)
        let subscription = subscriptions[place]
        batch.revisions.append(
            .init(channel: subscription.channel, number: subscription.machine.revision))
    }

    // MARK: The disk

    /// Memory's positions of these logs.
    func positions(of channels: [ChannelName]) -> [ChannelName: LogPosition] {
        var found: [ChannelName: LogPosition] = [:]
        for channel in channels { found[channel] = positions[channel] }
        return found
    }

    /// `moved` holds the new positions of the logs.
    mutating func committed(
        _ revisions: [StagedBatch.Revision], moved: [ChannelName: LogPosition], at now: Duration,
        jitter: Double, _ output: inout ChannelsOutput
    ) {
        positions.merge(moved.filter { places[$0.key] != nil }) { $1 }
        for revision in revisions {
            guard let place = places[revision.channel] else { continue }
            perform(of: place, &output) {
                $0.committed(revision: revision.number, at: now, jitter: jitter)
            }
        }
    }

    /// The journal's state of the requested channels; nil: none.
    mutating func reloaded(
        _ found: [ChannelName: ChannelStore.Stored?], at now: Duration,
        _ output: inout ChannelsOutput
    ) {
        for place in subscriptions.indices {
            // A channel subscribed to meanwhile already has the journal's state.
            guard let stored = found[subscriptions[place].channel] else { continue }
            subscriptions[place].drop()
            positions[subscriptions[place].channel] = stored?.position
            perform(of: place, &output) {
                $0.commitFailed(
                    epoch: stored?.epoch, coverage: stored?.coverage ?? Coverage(),
                    head: stored?.head ?? 0, snapshot: stored?.snapshot, at: now)
            }
        }
    }

    // MARK: Decisions of a channel's machine

    private mutating func perform(
        of place: Int, _ output: inout ChannelsOutput,
        _ input: (inout SubscriptionMachine) -> [SubscriptionMachine.Action]
    ) {
        let channel = subscriptions[place].channel
        for step in input(&subscriptions[place].machine) {
            switch step {
            case .subscribe(let epoch, let coverage):
                asks.removeAll { $0.channel == channel }
                asks.append(
                    .init(
                        channel: channel, epoch: epoch, coverage: coverage,
                        isFirst: onScreen.contains(channel)))
                subscriptions[place].tally.requests += 1
            case .startEpoch(let epoch, let missing):
                subscriptions[place].stage { segment in
                    segment.epoch = epoch
                    segment.formerMissing = missing
                }
            case .recordLoss(let ranges, let reason):
                subscriptions[place].stage {
                    $0.losses.append(.init(ranges: ranges, reason: reason))
                }
            case .recordSnapshot(let snapshot):
                subscriptions[place].stage { $0.snapshot = .wanted(snapshot) }
            case .settleSnapshot: subscriptions[place].stage { $0.snapshot = .taken }
            case .requestSnapshot(let snapshot):
                output.emit(.requestSnapshot(channel, snapshot))
            case .unsubscribe:
                asks.removeAll { $0.channel == channel }
                output.emit(.send([ClientFrame.unsubscribe([channel]).encoded()]))
            case .scheduleTimer(let moment): output.schedule(.channel(channel), at: moment)
            case .reconnect: wantsReconnect = true
            case .enter(let state):
                subscriptions[place].tally.entered(state)
                output.emit(.enter(channel, state))
            }
        }
    }
}
