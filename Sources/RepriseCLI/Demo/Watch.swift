import RepriseCore

/// Follows the two effect files beside the list of what was acknowledged.
struct Watch {
    /// Timeout for a device's step, normally under a second, before it is killed anyway.
    private static let timeout = Duration.seconds(5)

    private let traffic: Traffic
    private let timeline: Timeline
    private let stage: DemoFixture
    private var ours: EffectLog
    private var naive: EffectLog
    private var lastRestart = ContinuousClock.now
    private var oursAfter: Duration?
    private var naiveAfter: Duration?
    private var linesAtStart = 0

    init(stage: DemoFixture, traffic: Traffic, timeline: Timeline) {
        self.stage = stage
        self.traffic = traffic
        self.timeline = timeline
        ours = EffectLog(stage.effects)
        naive = EffectLog(stage.naiveEffects)
    }

    /// Whether our device has all acknowledged messages.
    var hasOurs: Bool { ours.ids.count >= traffic.count }
    /// Whether both have.
    var isComplete: Bool { hasOurs && naive.ids.count >= traffic.count }

    var disposition: String {
        switch (oursAfter, naiveAfter) {
        case (.some, .some): "both have everything"
        case (.some, nil): "reprise has everything; naive gets no more"
        case (nil, _): "reprise does not have everything"
        }
    }

    /// Prints a row of the timeline.
    mutating func note(_ what: String) throws {
        _ = try look()
        try timeline.row([traffic.count, ours.ids.count, naive.ids.count], what)
    }

    /// The devices are being started again.
    mutating func restarted() {
        lastRestart = .now
        linesAtStart = ours.lines
        oursAfter = nil
        naiveAfter = nil
    }

    /// Returns when our device has handled so many messages since it was started.
    mutating func waitUntilOursHasHandled(_ count: Int) async throws {
        let end = ContinuousClock.now + Self.timeout
        while ours.lines - linesAtStart < count, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(1))
            _ = try look()
        }
    }

    /// Reads the devices' new effects.
    ///
    /// - Returns: whether any were found.
    mutating func look() throws -> Bool {
        let before = ours.lines + naive.lines
        try ours.update()
        try naive.update()
        if oursAfter == nil, hasOurs { oursAfter = .now - lastRestart }
        if naiveAfter == nil, naive.ids.count >= traffic.count { naiveAfter = .now - lastRestart }
        return ours.lines + naive.lines > before
    }

    /// Adds everything up; the devices have ended.
    mutating func report(seed: UInt64, published: Int, kills: Int) throws -> KillReport {
        _ = try look()
        let acknowledged = traffic.acknowledged
        let sink = try SinkTable.ids(in: stage.journal)
        return KillReport(
            seed: seed, published: published, acknowledged: acknowledged.count, kills: kills,
            ours: .init(ours, acknowledged, after: oursAfter),
            naive: .init(naive, acknowledged, after: naiveAfter),
            sink: .init(sink, acknowledged),
            perSecond: traffic.medianRate,
            duration: timeline.elapsed)
    }
}
