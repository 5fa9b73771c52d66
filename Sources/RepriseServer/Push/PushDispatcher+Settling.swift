import RepriseCore
import RepriseWire

/// Records the disposition of pushes.
extension PushDispatcher {
    func note(_ due: DuePush, _ acknowledgement: PushMachine.Acknowledgement) {
        metrics?.pushed(provider.service, acknowledgement)
        if unsettled.isEmpty { unsettledSince = clock.uptime() }
        unsettled.append(
            PushSettled(entry: due.entry, address: due.address, acknowledgement: acknowledgement))
    }

    /// Records answers once they are many, or old, or nothing else is in flight.
    ///
    /// - Returns: when to call it again.
    func settle(_ group: inout DiscardingTaskGroup, _ now: Duration) -> Duration? {
        guard !isSettling, let since = unsettledSince else { return nil }
        let latest = since + PushLimits.settledWithin
        let isWorth = unsettled.count >= PushLimits.settledTogether || machine.underWay == 0
        guard isWorth || latest <= now else { return latest }
        isSettling = true
        group.addTask { await self.settleAll() }
        return nil
    }

    private func settleAll() async {
        let batch = unsettled
        unsettled = []
        unsettledSince = nil
        do {
            try await accounts.settlePushes(batch, now: clock.wall())
            settled(batch)
        } catch {
            failed("writing down what became of pushes", error)
            unsettled = batch + unsettled
            unsettledSince = clock.uptime()
            try? await clock.sleep(for: PushLimits.afterFailure)
        }
        isSettling = false
        signal.yield()
    }

    private func settled(_ batch: [PushSettled]) {
        var removed = 0
        var soonest: Duration?
        for one in batch {
            pushes[one.entry.number] = nil
            if one.isRemoved, one.entry.kind == .alert { removed += 1 }
            guard case .again(let wait, _) = one.acknowledgement else { continue }
            soonest = min(soonest ?? wait, wait)
        }
        let now = clock.uptime()
        machine.settled(
            batch.map(\.entry.number), removed: removed, next: soonest.map { now + $0 })
    }

    /// At the end, records the answers if the disk permits; otherwise their pushes are sent once
    /// more.
    func settleRest() async {
        guard !unsettled.isEmpty else { return }
        try? await accounts.settlePushes(unsettled, now: clock.wall())
        unsettled = []
    }
}
