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
                    guard var walk = try await accounts.pushWalk(provider.service, in: name) else {
                        continue
                    }
                    if walk.through > head {
                        // A restored log assigns sequences again, and messages with them are new.
                        walk = PushWalk(channel: name, through: head, target: nil, user: "")
                        try await accounts.savePush(walk, provider.service)
                    }
                    guard walk.through < head else { continue }
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

    func walk(_ channel: ChannelName, through: Int64) async {
        do {
            guard var walk = try await prepare(channel, through: through) else {
                machine.walked(channel, added: 0, through: through)
                signal.yield()
                return
            }
            let added = try await accounts.stepPush(
                &walk.walk, provider.service, to: walk.target, walk.candidates, now: clock.wall())
            let isDone = walk.walk.target == nil
            walks[channel] = isDone ? nil : walk
            machine.walked(channel, added: added, through: isDone ? walk.target : nil)
        } catch {
            failed("a walk", error)
            walks[channel] = nil
            machine.walkFailed(channel, now: clock.uptime())
        }
        signal.yield()
    }

    /// A channel's scan with its messages; nil without members or messages.
    private func prepare(_ channel: ChannelName, through: Int64) async throws -> Walk? {
        if let walk = walks[channel] { return walk }
        guard let walk = try await accounts.pushWalk(provider.service, in: channel),
            let missing = SequenceRange(after: walk.through, through: walk.target ?? through)
        else { return nil }
        let page = try await log.page(
            of: channel, missing: [missing], limit: PushLimits.messagesPerWalk,
            byteLimit: PushLimits.messagesPerWalk * WireLimits.bodyBytes)
        let target = max(walk.through, min(page.through, missing.through))
        guard target > walk.through else { return nil }
        let now = clock.wall()
        var candidates: [PushCandidate] = []
        for event in page.events
        where event.seq > walk.through && event.change == nil && !event.isDeleted {
            guard let content = PushContent(event.body) else { continue }
            let expires = event.time.advanced(by: content.life)
            if expires <= now, mayExpire() { continue }
            candidates.append(
                PushCandidate(seq: event.seq, id: event.id, from: event.from, expires: expires))
        }
        return Walk(walk: walk, target: target, candidates: candidates)
    }
}
