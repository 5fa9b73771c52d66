import RepriseCore

/// Follows the two effect files beside the list of what was acknowledged.
struct Watch {
    private let traffic: Traffic
    private let timeline: Timeline
    private let stage: DemoStage
    private var ours: EffectLog
    private var naive: EffectLog
    private var lastRestart = ContinuousClock.now
    private var oursAfter: Duration?
    private var naiveAfter: Duration?
    private var rates: [Double] = []

    init(stage: DemoStage, traffic: Traffic, timeline: Timeline) {
        self.stage = stage
        self.traffic = traffic
        self.timeline = timeline
        ours = EffectLog(stage.effects)
        naive = EffectLog(stage.naiveEffects)
    }

    /// Whether our device has everything that was acknowledged.
    var hasOurs: Bool { ours.ids.count >= traffic.count }
    /// Whether both have.
    var isComplete: Bool { hasOurs && naive.ids.count >= traffic.count }

    var verdict: String {
        switch (oursAfter, naiveAfter) {
        case (.some, .some): "both have everything"
        case (.some, nil): "reprise has everything; nothing more comes for naive"
        case (nil, _): "reprise does not have everything"
        }
    }

    /// Prints a row of the timeline.
    mutating func note(_ what: String) throws {
        _ = try look()
        try timeline.row(
            stored: traffic.count, ours: ours.ids.count, naive: naive.ids.count, what)
    }

    /// The devices are being started again.
    mutating func restarted() {
        lastRestart = .now
        oursAfter = nil
        naiveAfter = nil
    }

    /// A burst was stored in so much time.
    mutating func burst(_ messages: Int, _ duration: Duration) {
        rates.append(Double(messages) / max(duration.inSeconds, 0.000_001))
    }

    /// Reads what the devices have done since.
    ///
    /// - Returns: whether there was anything.
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
        let middle = rates.sorted()
        return KillReport(
            seed: seed, published: published, acknowledged: acknowledged.count, kills: kills,
            ours: .init(ours, acknowledged, after: oursAfter),
            naive: .init(naive, acknowledged, after: naiveAfter),
            sink: .init(sink, acknowledged),
            perSecond: middle.isEmpty ? 0 : Int(middle[middle.count / 2]),
            duration: timeline.elapsed)
    }
}
