import RepriseCore
import RepriseWire

/// The events in flight: how far each is with the page, and which are tried alone because one of
/// them may have ended a page.
struct FormsSlots: Sendable {
    enum Stage: Hashable {
        /// The page has it soon.
        case queued
        case sent(at: Duration)
        /// The page has evaluated it; its form waits for its time or for the screen.
        case waiting
        /// It requested permission to show this form.
        case asked(form: String)
        /// The app was asked about it.
        case deciding(form: String, question: Int, at: Duration)
        case granted(PageMessage.Showing, at: Duration)
    }

    struct Slot {
        let arrival: FormsArrival
        fileprivate(set) var stage: Stage

        /// Whether a form was granted for it and not yet reported as shown.
        var isGranted: Bool { if case .granted = stage { true } else { false } }
    }

    /// In order of dispatch.
    private var slots: [Slot] = []
    /// How many events go one by one, because one of them may have killed a page.
    private var careful = 0
    private var deaths: [EntryID: Int] = [:]

    var count: Int { slots.count }

    func stage(of event: EntryID) -> Stage? { index(of: event).map { slots[$0].stage } }

    private func index(of event: EntryID) -> Int? {
        slots.firstIndex { $0.arrival.id == event }
    }

    /// The event about which the app was asked, its form, and when.
    func deciding(_ question: Int) -> (arrival: FormsArrival, form: String)? {
        for slot in slots {
            if case .deciding(let form, question, _) = slot.stage { return (slot.arrival, form) }
        }
        return nil
    }

    /// The question that was asked at this moment or before it.
    func overdue(at moment: Duration) -> Int? {
        for slot in slots {
            if case .deciding(_, let question, let at) = slot.stage, at <= moment {
                return question
            }
        }
        return nil
    }

    func arrival(of event: EntryID) -> FormsArrival? { index(of: event).map { slots[$0].arrival } }

    // MARK: Changes

    mutating func add(_ arrival: FormsArrival) {
        slots.append(Slot(arrival: arrival, stage: .queued))
    }

    mutating func set(_ stage: Stage, of event: EntryID) {
        guard let index = index(of: event) else { return }
        slots[index].stage = stage
    }

    /// The next events to send: all of them, or one at a time if one may have killed a page.
    mutating func nextBatch(at now: Duration) -> [FormsArrival]? {
        let isBusy = slots.contains { $0.stage != .queued && $0.stage != .waiting }
        if careful > 0, isBusy { return nil }
        var (batch, bytes): ([FormsArrival], Int) = ([], 0)
        for index in slots.indices where slots[index].stage == .queued {
            let arrival = slots[index].arrival
            bytes += arrival.content.properties.count
            let limit = careful > 0 ? 1 : FormsEngineLimits.eventsPerMessage
            guard batch.count < limit, batch.isEmpty || bytes <= FormsEngineLimits.bytesPerMessage
            else { break }
            slots[index].stage = .sent(at: now)
            batch.append(arrival)
        }
        return batch.isEmpty ? nil : batch
    }

    /// The page gives it back.
    mutating func remove(_ event: EntryID) {
        slots.removeAll { $0.arrival.id == event }
        careful = max(careful - 1, 0)
    }

    /// The page has reported its outcome.
    mutating func end(_ event: EntryID) {
        remove(event)
        deaths[event] = nil
    }

    /// - Returns: what was there; of what ended pages is known afterwards, too.
    mutating func removeAll() -> [Slot] {
        defer { slots = [] }
        return slots
    }

    // MARK: What ends pages

    /// The page has ended, and suspects are the form that was about to appear, or the only event
    /// being evaluated; else each is tried alone.
    mutating func pageEnded() {
        var sent: [EntryID] = []
        var showing: EntryID?
        for slot in slots {
            switch slot.stage {
            // The page has nothing to do while the app decides.
            case .queued, .waiting, .deciding: break
            case .sent, .asked: sent.append(slot.arrival.id)
            case .granted: showing = slot.arrival.id
            }
        }
        if let culprit = showing ?? (sent.count == 1 ? sent.first : nil) {
            deaths[culprit, default: 0] += 1
        }
        careful = max(careful, sent.count + (showing == nil ? 0 : 1))
    }

    /// Whether it has ended so many pages that no other gets it; forgets that.
    mutating func isDeadly(_ event: EntryID) -> Bool {
        guard deaths[event, default: 0] >= FormsEngineLimits.deathsOfOneEvent else { return false }
        deaths[event] = nil
        return true
    }

    /// Nothing is suspected any more.
    mutating func acquit() {
        deaths = [:]
        careful = 0
    }

    // MARK: Time

    /// Whether the page has reported waiting events, and none is about to appear.
    var areSilent: Bool {
        var isWaiting = false
        for slot in slots {
            switch slot.stage {
            case .waiting: isWaiting = true
            case .asked, .deciding, .granted: return false
            case .queued, .sent: break
            }
        }
        return isWaiting
    }

    /// The earliest deadline; of those that wait for the screen the page has said so.
    func due(_ settings: FormsMachine.Settings) -> Duration? {
        slots.compactMap { slot in
            switch slot.stage {
            case .queued, .waiting, .asked: nil
            case .sent(let at): at + settings.eventsTimeout
            case .deciding(_, _, let at): at + settings.decisionTimeout
            case .granted(_, let at): at + settings.appearTimeout
            }
        }.min()
    }

    /// The page fell silent, and a waiting event may be the cause.
    mutating func resendWaiting(at now: Duration) {
        for index in slots.indices where slots[index].stage == .waiting {
            slots[index].stage = .sent(at: now)
        }
    }

    /// The page had no reason to answer about those that wait for the screen.
    mutating func screenBecameFree(at now: Duration) {
        for index in slots.indices {
            if case .sent = slots[index].stage { slots[index].stage = .sent(at: now) }
        }
    }

    mutating func moveDeadlines(by step: Duration) {
        for index in slots.indices {
            switch slots[index].stage {
            case .queued, .waiting, .asked: break
            case .sent(let at): slots[index].stage = .sent(at: at + step)
            case .deciding(let form, let question, let at):
                slots[index].stage = .deciding(form: form, question: question, at: at + step)
            case .granted(let showing, let at):
                slots[index].stage = .granted(showing, at: at + step)
            }
        }
    }
}
