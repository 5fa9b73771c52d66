import Foundation
import RepriseCore

/// The log and its waiting readers.
extension PhoneSupervisor {
    func note(_ what: PhoneEvent.What, _ app: String?, _ detail: String) {
        put(PhoneEvent(what, app: app, detail, at: now()))
    }

    /// Logs an event without a change of state.
    func put(_ event: PhoneEvent) {
        var event = event
        event.number = log.last + 1
        event.detail = event.detail.limited(to: PhoneLimits.detailBytes)
        do { try append([event]) } catch { end(error) }
    }

    func append(_ events: [PhoneEvent]) throws {
        guard !events.isEmpty else { return }
        try log.append(events)
        for id in pollers.keys { wake(id) }
    }

    func page(_ number: Int) -> [PhoneEvent] {
        var room = LineConnection.lineLimit / 2
        return log.after(number, limit: PhoneLimits.pageEvents).prefix { event in
            room -= event.detail.utf8.count * 2 + 256
            return room > 0
        }
    }

    func events(since number: Int, waitMilliseconds: Int) async -> [PhoneEvent] {
        let limit =
            ContinuousClock.now + .milliseconds(min(waitMilliseconds, PhoneLimits.pageMilliseconds))
        while page(number).isEmpty, ContinuousClock.now < limit, !isEnding,
            pollers.count < Self.pollerLimit
        {
            lastPoller += 1
            let id = lastPoller
            await withCheckedContinuation { poller in
                let bell = Task { [weak self] in
                    try? await Task.sleep(until: limit)
                    await self?.wake(id)
                }
                pollers[id] = (poller, bell)
            }
        }
        return page(number)
    }

    func wake(_ id: Int) {
        guard let (poller, bell) = pollers.removeValue(forKey: id) else { return }
        bell.cancel()
        poller.resume()
    }
}
