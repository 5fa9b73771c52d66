import RepriseCore

/// One run of the scenario `catch-up`: published messages compared with the devices' effects.
struct CatchUpRunner {
    let traffic: [Traffic]
    let watch: CatchUpWatch
    let timeline: Timeline
    /// When the devices came back.
    var returned = ContinuousClock.now
    /// Acknowledged before the subscriptions were killed.
    var beforeKill: Set<EntryID> = []

    /// The ids that the server has acknowledged to the publishers.
    var acknowledged: Set<EntryID> {
        traffic.reduce(into: []) { $0.formUnion($1.acknowledged) }
    }

    func has(_ role: CatchUpDevice) throws -> Bool {
        try acknowledged.isSubset(of: watch.look(role).ids)
    }

    func allHaveAll() throws -> Bool {
        guard traffic.allSatisfy({ $0.count > 0 }) else { return false }
        return try CatchUpDevice.allCases.allSatisfy { try has($0) }
    }

    /// The smallest number of messages on any device.
    func least() throws -> Int {
        try CatchUpDevice.allCases.map { try watch.look($0).ids.count }.min() ?? 0
    }

    /// Prints a row of the timeline.
    func note(_ what: String) throws {
        let counts = try CatchUpDevice.allCases.map { try watch.look($0).ids.count }
        try timeline.row([acknowledged.count] + counts, what)
    }

    /// Returns when the condition holds.
    ///
    /// - Throws: ``CommandFailure`` at the limit.
    func wait(
        _ what: String, _ limit: Duration, speaking: Bool = false,
        until condition: () throws -> Bool
    ) async throws {
        let start = ContinuousClock.now
        var spoken = start
        while try !condition() {
            guard .now - start < limit else {
                throw CommandFailure(.incomplete, "The demo got stuck: not in time: \(what).")
            }
            if speaking, .now - spoken > .seconds(10) {
                spoken = .now
                try note("…")
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Adds everything up.
    func report(seed: UInt64, speed: Double) throws -> CatchUpReport {
        let acknowledged = acknowledged
        let live = acknowledged.subtracting(beforeKill)
        var devices: [CatchUpDevice: CatchUpReport.Device] = [:]
        for role in CatchUpDevice.allCases {
            let (ids, again) = try watch.look(role)
            devices[role] = .init(
                applied: ids.intersection(acknowledged).count, again: again,
                lost: acknowledged.subtracting(ids).count,
                live: live.intersection(ids).count,
                complete: watch.claim(of: role).map { $0 - returned },
                isFrozen: watch.isFrozen(role))
        }
        return CatchUpReport(
            seed: seed, speed: speed, acknowledged: acknowledged.count, live: live.count,
            devices: devices, duration: timeline.elapsed)
    }
}
