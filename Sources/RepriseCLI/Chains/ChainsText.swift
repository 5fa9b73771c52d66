import Foundation
import RepriseChains
import RepriseCommandLine
import RepriseCore

/// Chains for a person: at most 80 columns wide.
struct ChainsText {
    private let terminal: Terminal

    init(_ terminal: Terminal) { self.terminal = terminal }

    // MARK: The list

    func lines(_ overview: ChainOverview) -> [String] {
        guard !overview.counts.isEmpty else { return ["no chains"] }
        let head =
            "id".left(10) + "chain".left(26) + "state".left(13) + "tasks".right(9) + "  started"
        return [terminal.paint(head, .dim)] + overview.chains.flatMap(row) + ["", total(overview)]
    }

    private func row(_ chain: ChainRecord) -> [String] {
        let name = "\(chain.definition) \(chain.version)".printable.fitting(25)
        let line =
            chain.shortID.printable.left(10) + padded(name, 26)
            + state(chain.state, width: 13)
            + "\(chain.doneCount)/\(chain.taskCount)".right(9) + "  "
            + (chain.startedAt?.dayAndTime ?? "")
        guard let why = chain.why else { return [line] }
        return [line, terminal.paint("          " + why.printable.fitting(70), .dim)]
    }

    private func total(_ overview: ChainOverview) -> String {
        let all = overview.counts.reduce(0) { $0 + $1.count }
        let parts = Self.parts(overview.counts)
        let shown = Int64(overview.chains.count)
        let cut = shown < all ? "; \(shown.grouped) shown" : ""
        return
            "\(all.grouped) \(all == 1 ? "chain" : "chains"): \(parts)\(cut)"
            .fitting(80)
    }

    private static func parts(_ counts: [(state: ChainState?, count: Int64)]) -> String {
        counts.map { "\($0.count.grouped) \($0.state?.word ?? "unknown")" }
            .joined(separator: ", ")
    }

    /// What the app will clear: how many chains, in which states.
    static func leftClearing(
        _ age: Lifetime, _ counts: [(state: ChainState?, count: Int64)]
    ) -> String {
        let all = counts.reduce(0) { $0 + $1.count }
        let chains = all == 0 ? "chains" : all == 1 ? "1 chain" : "\(all.grouped) chains"
        return
            "left for the app: clear \(chains) that ended \(age.defaultValueDescription) ago or before"
            + (all == 0 ? "; so far none has" : "\n  " + parts(counts))
    }

    // MARK: Schedules

    func lines(_ schedules: [ChainScheduleStatus]) -> [String] {
        guard !schedules.isEmpty else { return ["no schedules"] }
        let head = "name".left(24) + "runs".left(22) + "next".left(21) + "last"
        return [terminal.paint(head, .dim)] + schedules.flatMap(row)
    }

    private func row(_ schedule: ChainScheduleStatus) -> [String] {
        let next = schedule.next?.dayAndTime ?? (schedule.reason == nil ? "none" : "parked")
        let line =
            padded(schedule.name.printable.fitting(23), 24)
            + padded((schedule.schedule?.words ?? "unknown").fitting(21), 22)
            + next.left(21) + (schedule.lastRun == nil ? "" : state(schedule.lastState))
        let skipped =
            schedule.skipped == 0
            ? nil : "skipped \(schedule.skipped.grouped) times, for a run was under way"
        return [line]
            + [schedule.reason, skipped].compactMap { $0 }.map {
                terminal.paint("          " + $0.printable.fitting(70), .dim)
            }
    }

    // MARK: One chain

    func lines(
        _ chain: ChainRecord, _ tasks: [ChainTaskRecord], _ log: [ChainLogRecord]
    ) -> [String] {
        var lines = [
            terminal.paint("\(chain.definition) \(chain.version)".printable.fitting(50), .bold)
                + "  " + state(chain.state) + "  \(chain.doneCount)/\(chain.taskCount)"
        ]
        lines += facts(of: chain)
        var step: Int64?
        for task in tasks {
            if task.step != step {
                let count = tasks.count { $0.step == task.step }
                lines += ["", "step \(task.step + 1)" + (count > 1 ? ", \(count) tasks" : "")]
                step = task.step
            }
            lines += self.lines(task)
        }
        guard !log.isEmpty else { return lines }
        lines += ["", "log"]
        for line in log {
            let time = line.at.map { String($0.dayAndTime.suffix(8)) } ?? ""
            let task = line.task.map { $0 + ": " } ?? ""
            lines.append(
                "  " + terminal.paint(time.left(10), .dim)
                    + (task + line.line).printable.fitting(68))
        }
        return lines
    }

    private func facts(of chain: ChainRecord) -> [String] {
        let facts: [(String, String?)] = [
            ("id", chain.id), ("name", chain.name),
            ("reason", chain.why),
            ("needs", chain.needed.isEmpty ? nil : chain.needed.joined(separator: ", ")),
            ("started", chain.startedAt?.dayAndTime), ("not before", chain.due?.dayAndTime),
            ("deadline", chain.deadline?.dayAndTime), ("ended", chain.endedAt?.dayAndTime),
            ("leaves", chain.leaves?.dayAndTime), ("input", Self.words(chain.input)),
        ]
        return facts.compactMap { name, value in value.map { fact(name, $0) } }
    }

    private func lines(_ task: ChainTaskRecord) -> [String] {
        let attempts = task.attempts == 1 ? "1 attempt" : "\(task.attempts.grouped) attempts"
        let took = task.took.map(\.shown) ?? ""
        var lines = [
            "  " + paint(task.word.left(12), task.state)
                + padded(task.name.printable.fitting(23), 24)
                + padded((task.worker ?? task.withoutWorker).printable.fitting(18), 19)
                + (task.attempts > 0 ? attempts : "").right(12) + took.right(11)
        ]
        let details: [(String, String?)] = [
            ("waits for", task.hold.map(ChainRecord.words)),
            ("again at", task.nextAttempt?.dayAndTime),
            ("error", task.error), ("progress", task.shownProgress),
            ("saved", Self.words(task.checkpoint)),
            ("in", Self.words(task.input)), ("out", Self.words(task.output)),
            ("undo in", Self.words(task.compensationInput)),
        ]
        for case (let name, let value?) in details {
            lines.append(
                terminal.paint("              " + name.left(10), .dim)
                    + value.printable.fitting(56))
        }
        return lines
    }

    /// The beginning of a content, or where it lies.
    private static func words(_ content: StoredContent) -> String? {
        if content.file != nil { return "\(content.count.grouped) bytes in a file" }
        guard let bytes = content.bytes else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return content.count > 200 ? "\(content.count.grouped) bytes: \(text)" : text
    }

    private func fact(_ name: String, _ value: String) -> String {
        terminal.paint("  " + name.left(11), .dim) + value.printable.fitting(67)
    }

    // MARK: Looks

    /// Padded by its width in the terminal, not by its number of characters.
    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.columns))
    }

    private func state(_ state: ChainState?, width: Int = 0) -> String {
        let word = (state?.word ?? "unknown").left(width)
        switch state {
        case .failed, .quarantined, .failing, nil: return terminal.paint(word, .red)
        case .suspended, .paused, .cancelling: return terminal.paint(word, .yellow)
        case .running: return terminal.paint(word, .green)
        case .queued, .succeeded, .cancelled: return word
        }
    }

    private func paint(_ word: String, _ state: TaskState?) -> String {
        switch state {
        case .failed, nil: terminal.paint(word, .red)
        case .intended: terminal.paint(word, .green)
        case .held: terminal.paint(word, .yellow)
        case .blocked, .cancelled: terminal.paint(word, .dim)
        case .succeeded: word
        }
    }
}
