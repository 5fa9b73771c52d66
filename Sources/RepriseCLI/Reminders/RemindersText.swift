import RepriseCommandLine
import RepriseCore
import RepriseReminders

/// A reconciliation for a person: at most 80 columns wide.
struct RemindersText {
    private let reading: ReminderReconciliationReading
    private let next: Int
    private let terminal: Terminal

    init(_ reading: ReminderReconciliationReading, next: Int, terminal: Terminal) {
        self.reading = reading
        self.next = next
        self.terminal = terminal
    }

    var lines: [String] {
        guard let reconciliation = reading.reconciliation else {
            return [
                "No reconciliation was made yet: no app has run its reminders on this journal.",
                "An app makes one when its client runs with `configuration.reminders`.",
            ]
        }
        return about(reconciliation) + ["", counts] + difference + upcoming(reconciliation) + marks
            + decisions
    }

    private func about(_ reconciliation: ReminderReconciliationReading.Reconciliation) -> [String] {
        var lines = [
            row("reconciled", "\(reconciliation.at.dayAndTime), cause: \(reconciliation.cause)"),
            row("allowed", allowed(reconciliation.permission)),
            row("the device", "is in \(reconciliation.zone)"),
            row(
                "reminders",
                "\(reconciliation.reminders.grouped) of \(reconciliation.entities.grouped) entities"
            ),
            row(
                "guaranteed",
                reconciliation.guaranteedUntil.map {
                    "until \($0.dayAndTime), without the app being opened"
                }
                    ?? (reading.desired == 0
                        ? "nothing is planned" : "for ever: all that is left has a place")),
        ]
        if let fault = reconciliation.fault {
            lines.append(terminal.paint(row("fault", fault), .red))
        }
        return lines
    }

    private func allowed(_ permission: String) -> String {
        switch permission {
        case "notDetermined": "nobody was asked"
        case "denied": "no notifications: nothing rings"
        case "authorized": "notifications"
        case "provisional": "quietly, until the person decides"
        default: permission
        }
    }

    private var counts: String {
        let words = [
            "desired \(reading.desired)", "pending \(reading.count("pending"))",
            "missing \(reading.count("missing"))", "refused \(reading.count("refused"))",
            "extra \(reading.count("extra"))", "without a place \(reading.count("beyond"))",
        ]
        return "  " + words.joined(separator: "   ")
    }

    private var difference: [String] {
        guard !reading.difference.isEmpty else {
            return ["  " + terminal.paint("The system has what it should.", .green)]
        }
        return header("Difference")
            + list(reading.difference, most: 20) { row in
                let line = "  \(row.status.left(8)) \(Self.when(row.wall))  \(Self.name(row))"
                return [terminal.paint(line.printable.fitting(80), .yellow)]
                    + (row.reason.map { [reason($0)] } ?? [])
            }
    }

    private func upcoming(_ reconciliation: ReminderReconciliationReading.Reconciliation)
        -> [String]
    {
        let rows = reading.rows.filter { $0.status != "extra" }.prefix(next)
        guard !rows.isEmpty else { return [] }
        return header("Next \(rows.count)")
            + rows.map { row in
                var notes: [String] = []
                if row.zone != reconciliation.zone { notes.append(row.zone) }
                if row.wall != row.local { notes.append("for \(Self.when(row.local))") }
                if row.status != "pending" { notes.append(row.status) }
                let note = notes.isEmpty ? "" : "  (\(notes.joined(separator: ", ")))"
                let line = "  \(Self.when(row.wall))  \(Self.name(row))".printable
                return (line.fitting(80 - min(note.columns, 40)) + note.printable).fitting(80)
            }
    }

    private var marks: [String] {
        guard !reading.marks.isEmpty else { return [] }
        return header("Said by the person")
            + list(reading.marks, most: 20) { mark in
                let which = mark.reminder.isEmpty ? mark.entity : "\(mark.entity)/\(mark.reminder)"
                let line =
                    "  \(mark.what.left(7)) until \(mark.until.dayAndTime)  \(which), \(mark.occurrence)"
                return [line.printable.fitting(80)]
            }
    }

    private var decisions: [String] {
        guard !reading.decisions.isEmpty else { return [] }
        return header("Decisions, newest first")
            + reading.decisions.flatMap { decision in
                let what = "\(decision.at.dayAndTime)  \(decision.what.left(15))"
                let line = "  \(what)  \(decision.entity ?? decision.request)"
                return [line.printable.fitting(80), reason(decision.reason)]
            }
    }

    // MARK: Pieces

    private static func when(_ local: String) -> String {
        local.replacing("T", with: " ", maxReplacements: 1)
    }

    private static func name(_ row: ReminderReconciliationReading.Row) -> String {
        "\(row.entity)/\(row.reminder)  “\(row.title)”"
    }

    private func reason(_ words: String) -> String {
        terminal.paint(("      " + words.printable).fitting(80), .dim)
    }

    private func header(_ words: String) -> [String] { ["", terminal.paint(words, .bold)] }

    private func list<T>(_ all: [T], most: Int, _ lines: (T) -> [String]) -> [String] {
        all.prefix(most).flatMap(lines)
            + (all.count > most ? ["  and \((all.count - most).grouped) more"] : [])
    }

    private func row(_ name: String, _ words: String) -> String {
        terminal.paint("  " + name.left(12), .dim) + words.printable.fitting(66)
    }
}
