import RepriseChains
import RepriseCommandLine
import RepriseCore

extension ChainState {
    /// Its word in a list.
    var word: String { self == .suspended ? "parked" : "\(self)" }
}

extension ChainSchedule {
    /// For a person; the details of a calendar rule are in its JSON.
    var words: String {
        switch self {
        case .every(let interval):
            let minutes = interval.components.seconds / 60
            return minutes.isMultiple(of: 60)
                ? "every \(minutes / 60) h" : "every \(minutes) min"
        case .calendar(let schedule):
            let days =
                switch schedule.days {
                case .once(let day): "once on \(day)"
                case .daily: "daily"
                case .weekly: "weekly"
                case .every(let count, _): "every \(count) days"
                case .monthly: "monthly"
                case .yearly: "yearly"
                }
            let times = schedule.times.sorted().map(\.description).joined(separator: " ")
            return "\(days) \(times)"
        }
    }
}

extension ChainRecord {
    /// As much of the id as a person types.
    var shortID: String { String(id.prefix(8)) }

    /// Why it does not continue; nil if it does, or has succeeded.
    var why: String? { reason ?? hold.map { "waits for " + Self.words($0) } }

    /// What a task waits for.
    static func words(_ hold: String) -> String {
        if hold == "conditions" { return "what it needs of the device" }
        if hold == "disk" { return "the disk, to read what earlier tasks have given" }
        if hold.hasPrefix("readiness:") { return "the readiness " + hold.dropFirst(10) }
        if hold.hasPrefix("entry:") { return "an entry of kind " + hold.dropFirst(6) }
        if hold == "paused" { return "somebody to resume it" }
        return hold
    }

    /// The required device conditions.
    var needed: [String] {
        var words: [String] = []
        if needs & 1 != 0 { words.append("network") }
        if needs & 2 != 0 { words.append("unmetered") }
        if needs & 4 != 0 { words.append("charging") }
        if needsBytes > 0 { words.append("\(needsBytes.grouped) bytes free") }
        return words
    }
}

extension ChainTaskRecord {
    /// What a task without a worker does; a decision is its input.
    var withoutWorker: String { input.bytes == nil ? "waits" : "decides" }

    /// Its word in a list.
    var word: String {
        switch compensation {
        case .intended, .held: return "undoing"
        case .compensated: return "undone"
        case .failed: return "not undone"
        case .some(.none), nil: break
        }
        switch state {
        case .blocked: return "blocked"
        case .intended: return isInFlight ? "running" : nextAttempt == nil ? "ready" : "retrying"
        case .held: return "held"
        case .succeeded: return "succeeded"
        case .failed: return "failed"
        case .cancelled: return "cancelled"
        case nil: return "unknown"
        }
    }

    /// From its first start to its end.
    var took: Duration? {
        guard let startedAt, let endedAt, endedAt >= startedAt else { return nil }
        return startedAt.duration(to: endedAt)
    }

    var shownProgress: String? {
        guard let progress, progress.isFinite else { return note }
        let percent = Int((max(0, min(progress, 1)) * 100).rounded())
        return "\(percent) %" + (note.map { ", \($0)" } ?? "")
    }
}
