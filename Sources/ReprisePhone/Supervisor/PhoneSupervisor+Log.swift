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
        logChanges.notifyAll()
    }

    func page(_ number: Int) -> [PhoneEvent] {
        var room = LineConnection.lineLimit / 2
        return log.after(number, limit: PhoneLimits.pageEvents).prefix { event in
            room -= event.detail.utf8.count * 2 + 256
            return room > 0
        }
    }

    func events(since number: Int, waitMilliseconds: Int) async -> [PhoneEvent] {
        guard pollers < Self.pollerLimit else { return page(number) }
        pollers += 1
        defer { pollers -= 1 }
        let limit =
            ContinuousClock.now + .milliseconds(min(waitMilliseconds, PhoneLimits.pageMilliseconds))
        let timer = Task { [logChanges] in
            guard (try? await Task.sleep(until: limit)) != nil else { return }
            logChanges.notifyAll()
        }
        await logChanges.wait { !page(number).isEmpty || ContinuousClock.now >= limit || isEnding }
        timer.cancel()
        return page(number)
    }
}
