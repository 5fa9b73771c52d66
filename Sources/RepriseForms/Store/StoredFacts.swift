import Foundation
import GRDB
import RepriseCore
import RepriseWire

/// What the conditions of a form are compared with, from a journal.
struct StoredFacts: FormsFacts {
    let db: Database
    /// The showing that is decided again, and counts no second time.
    let former: String?

    func attributes() throws -> CatalogueValue {
        let rows = try Row.fetchAll(db, sql: "SELECT name, value FROM formsAttribute")
        let values = rows.compactMap { row -> (String, CatalogueValue)? in
            guard let name = String.fromDatabaseValue(row[0]),
                let text = String.fromDatabaseValue(row[1]),
                let value = try? JSONDecoder().decode(
                    CatalogueValue.self, from: Data(text.utf8))
            else { return nil }
            return (name, value)
        }
        return .object(Dictionary(values) { first, _ in first })
    }

    func past(_ subject: FormsPast.Subject) throws -> FormsPast.Count? {
        let (what, name) =
            switch subject {
            case .event(let name): ("event", name)
            case .form(let form, let was): (was.rawValue, form)
            }
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT count, last FROM formsPast WHERE what = ? AND name = ?"),
            arguments: [what, name])
        guard let row, let count = Int64.fromDatabaseValue(row[0]),
            let last = Int64.fromDatabaseValue(row[1])
        else { return nil }
        return FormsPast.Count(count: count, last: WallTime(milliseconds: last))
    }

    func granted(_ form: String?, after moment: WallTime) throws -> Int {
        let condition = "granted > ? AND id <> ?" + (form == nil ? "" : " AND form = ?")
        let (since, former) = (moment.milliseconds, former ?? "")
        return try Int.fetchOne(
            db.cachedStatement(sql: "SELECT COUNT(*) FROM formsShowing WHERE \(condition)"),
            arguments: form.map { [since, former, $0] } ?? [since, former]) ?? 0
    }
}
