import Foundation
import GRDB
package import RepriseCore
package import RepriseForms
import RepriseJournal
package import RepriseWire

/// The forms' part of a transaction on a device's store: what `FormsStore` does in the shipping
/// journal.
package protocol FormsTransaction: AnyObject {
    /// `showing` is the id of the showing, if it is a new one; a new one may need the app's word.
    func leave(
        for event: EntryID, form: String, in catalogue: FormsCatalogue, as showing: String,
        asksApp: Bool
    ) throws -> FormsStore.Permission
    func doubtful(_ events: [EntryID]) throws -> Set<EntryID>
    func formAppeared(_ showing: String) throws
    func formDismissed(_ showing: String, how: String) throws
    /// Says whether what belonged to the former user or company was ended.
    func change(_ change: FormsChange) throws -> Bool
    /// Sets the attribute `plan` of the person; nil removes it.
    func setPlan(_ plan: String?) throws
    /// The showings that were granted and not forgotten, by id.
    func showings() throws -> [FormsModel.Showing]
}

extension GRDBTransaction: FormsTransaction {
    package func leave(
        for event: EntryID, form: String, in catalogue: FormsCatalogue, as showing: String,
        asksApp: Bool
    ) throws -> FormsStore.Permission {
        try FormsStore.leave(
            for: event, form: form, in: catalogue, as: showing, at: now, zone: .gmt,
            asksApp: asksApp, db)
    }

    package func doubtful(_ events: [EntryID]) throws -> Set<EntryID> {
        try FormsStore.doubtful(events, db)
    }

    package func formAppeared(_ showing: String) throws {
        try FormsStore.appeared(showing, at: now.milliseconds, db)
    }

    package func formDismissed(_ showing: String, how: String) throws {
        try FormsStore.end(showing, how, at: now.milliseconds, db)
    }

    package func change(_ change: FormsChange) throws -> Bool {
        try FormsStore.change(change.apply, db) { kinds, outcome, reason in
            try endAll(of: kinds, as: outcome, reason: reason)
        }.isCleared
    }

    package func setPlan(_ plan: String?) throws {
        let plan = plan.map { FormsAttribute.text($0) }
        try FormsStore.set(["plan": plan], db)
    }

    package func showings() throws -> [FormsModel.Showing] { try Self.showings(db) }

    private static func showings(_ db: Database) throws -> [FormsModel.Showing] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT id, entry, form, granted, appeared, dismissed, how FROM formsShowing
                ORDER BY id
                """
        ).map { row in
            FormsModel.Showing(
                id: row[0], event: EntryID(unchecked: row[1]), form: row[2], granted: row[3],
                appeared: row[4], dismissed: row[5], how: row[6])
        }
    }

    /// As the model writes it; nothing where the feature is not part of the journal.
    static func formsDump(_ db: Database) throws -> [String] {
        guard try db.tableExists("formsShowing") else { return [] }
        var lines = try showings(db).map(\.dump)
        for row in try Row.fetchAll(
            db,
            sql: "SELECT user, company FROM formsIdentity WHERE user NOTNULL OR company NOTNULL")
        {
            lines.append(FormsModel.line(row[0], row[1]))
        }
        return lines
    }
}

extension ComparedTransaction: FormsTransaction {
    package func leave(
        for event: EntryID, form: String, in catalogue: FormsCatalogue, as showing: String,
        asksApp: Bool
    ) throws -> FormsStore.Permission {
        try both("leave for \(event)") {
            try $0.leave(for: event, form: form, in: catalogue, as: showing, asksApp: asksApp)
        }
    }

    package func doubtful(_ events: [EntryID]) throws -> Set<EntryID> {
        try both("doubtful", text: { "\($0.map(\.text).sorted())" }) { try $0.doubtful(events) }
    }

    package func formAppeared(_ showing: String) throws {
        try both("appeared \(showing)") { try $0.formAppeared(showing) }
    }

    package func formDismissed(_ showing: String, how: String) throws {
        try both("dismissed \(showing)") { try $0.formDismissed(showing, how: how) }
    }

    package func change(_ change: FormsChange) throws -> Bool {
        try both("a change of whose they are") { try $0.change(change) }
    }

    package func setPlan(_ plan: String?) throws {
        try both("the plan \(plan ?? "of nobody")") { try $0.setPlan(plan) }
    }

    package func showings() throws -> [FormsModel.Showing] {
        try both("showings") { try $0.showings() }
    }
}
