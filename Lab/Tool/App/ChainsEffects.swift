import Foundation
import RepriseCore
import RepriseTesting

/// The effects of the demo's tasks, in a file outside of any journal.
struct ChainsEffects: Sendable {
    enum Verb: String, Sendable {
        /// A process has begun.
        case life
        /// A task has begun.
        case began
        /// Its effect has taken place.
        case done
        /// It has failed.
        case failed
        /// Its key was known: its effect has taken place before.
        case known
    }

    struct Line: Sendable {
        let verb: Verb
        let key: String
        let attempt: Int
        /// The chain's number and the task's name.
        let label: String
        /// The phone's clock that never jumps.
        let microseconds: Int64
    }

    private let file: LineFile
    private let folder: URL
    private let clock: any Timekeeper
    /// The effects of this process.
    private let count = Shared(0)

    /// - Throws: ``RepriseError``.
    init(at url: URL, clock: any Timekeeper) throws {
        self.clock = clock
        folder = url.deletingLastPathComponent()
        file = try LineFile(effects: url.path)
    }

    func write(_ verb: Verb, _ key: String, _ attempt: Int, _ label: String) {
        let now = Int64(clock.uptime() / .microseconds(1))
        file.append("\(verb.rawValue) \(key) \(attempt) \(label) \(now)")
    }

    /// Performs a task's plan; `effect` runs beside the line.
    func perform(
        _ task: ChainsPlan.Task, chain: Int, key: String, attempt: Int,
        effect: () async throws -> Void = {}
    ) async throws -> String {
        let label = "\(chain).\(task.name)"
        // Known before anybody sees that it has begun: the kill may come at once.
        let holds = task.holds && isFirst("held-\(label)")
        write(.began, key, attempt, label)
        if task.milliseconds > 0 { try await Task.sleep(for: .milliseconds(task.milliseconds)) }
        if holds || count.value >= task.mostPerLife ?? .max {
            try await Task.sleep(for: .seconds(600))
        }
        guard attempt > task.fails else {
            write(.failed, key, attempt, label)
            throw RepriseError(.unavailable, "\(task.name) failed, as it was to.")
        }
        try await effect()
        if task.sort == .once, !isFirst("key-\(key)") {
            write(.known, key, attempt, label)
        } else {
            write(.done, key, attempt, label)
            count.update { $0 += 1 }
        }
        if task.hangs, isFirst("hung-\(label)") { try await Task.sleep(for: .seconds(600)) }
        return String(repeating: "x", count: task.bytes)
    }

    /// Whether this is the first call with this name: it creates a file exclusively.
    func isFirst(_ name: String) -> Bool {
        let path = folder.appendingPathComponent(name.replacing("/", with: "-")).path
        let made = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard made >= 0 else { return false }
        close(made)
        return true
    }
}
