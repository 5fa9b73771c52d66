import RepriseCore
import RepriseWire

/// Fan-out scans over the members of channels.
extension PushDispatcher {
    /// Scans for messages stored while no server ran, or before they were noted.
    func recover() async {
        var after: ChannelName?
        do {
            while !isStopping {
                let names = try await accounts.pushChannels(after: after)
                guard let last = names.last else { break }
                for name in names {
                    let head = try await log.state(of: name).head
                    guard var scan = try await accounts.fanOutScan(provider.service, in: name)
                    else {
                        continue
                    }
                    if scan.through > head {
                        // A restored log assigns sequences again, and messages with them are new.
                        scan = FanOutScan(channel: name, through: head, target: nil, user: "")
                        try await accounts.savePush(scan, provider.service)
                    }
                    guard scan.through < head else { continue }
                    machine.stored(head, in: name, now: clock.uptime())
                }
                after = last
            }
            machine.recovered(succeeded: true, now: clock.uptime())
        } catch {
            failed("looking for what was not pushed", error)
            machine.recovered(succeeded: false, now: clock.uptime())
        }
        signal.yield()
    }

    func scan(_ channel: ChannelName, through: Int64) async {
        do {
            guard var scan = try await prepare(channel, through: through) else {
                machine.walked(channel, added: 0, through: through)
                signal.yield()
                return
            }
            let added = try await accounts.stepPush(
                &scan.scan, provider.service, to: scan.target, scan.candidates, now: clock.wall())
            let isDone = scan.scan.target == nil
            scans[channel] = isDone ? nil : scan
            machine.walked(channel, added: added, through: isDone ? scan.target : nil)
        } catch {
            failed("a walk", error)
            scans[channel] = nil
            machine.scanFailed(channel, now: clock.uptime())
        }
        signal.yield()
    }

    /// A channel's scan with its messages; nil without members or messages.
    private func prepare(_ channel: ChannelName, through: Int64) async throws -> Scan? {
        if let scan = scans[channel] { return scan }
        guard let scan = try await accounts.fanOutScan(provider.service, in: channel),
            let missing = SequenceRange(after: scan.through, through: scan.target ?? through)
        else { return nil }
        let page = try await log.page(
            of: channel, missing: [missing], limit: PushLimits.messagesPerScan,
            byteLimit: PushLimits.messagesPerScan * WireLimits.bodyBytes)
        let target = max(scan.through, min(page.through, missing.through))
        guard target > scan.through else { return nil }
        let now = clock.wall()
        var candidates: [PushCandidate] = []
        for event in page.events
        where event.seq > scan.through && event.change == nil && !event.isDeleted {
            guard let content = PushContent(event.body) else { continue }
            let expires = event.time.advanced(by: content.life)
            if expires <= now, mayExpire() { continue }
            candidates.append(
                PushCandidate(seq: event.seq, id: event.id, from: event.from, expires: expires))
        }
        return Scan(scan: scan, target: target, candidates: candidates)
    }
}
