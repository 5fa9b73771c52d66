import Foundation
import GRDB
import RepriseCore
package import RepriseWire

/// Makes a catalogue the current one; ``AccountLimits/formsVersions`` earlier ones are kept.
///
/// The bytes of an earlier version become current again as that version: this is how to roll back.
package struct SetCatalogue: AccountCommand {
    /// Its author's name for it.
    package var version: String
    /// Checked.
    package var bytes: [UInt8]
    package var company: ChannelName
    package var condition: Condition

    /// The precondition of a request on the current catalogue (RFC 9110 §13.1).
    package enum Condition: Hashable, Sendable {
        case none
        /// The current one is one of these, or for nil any: `If-Match`.
        case oneOf([String]?)
        /// No current one exists: `If-None-Match: *`.
        case absent

        func isMet(by tag: String?) -> Bool {
            switch self {
            case .none: true
            case .absent: tag == nil
            case .oneOf(nil): tag != nil
            case .oneOf(let tags?): tag.map(tags.contains) ?? false
            }
        }
    }

    package init(
        _ catalogue: FormsCatalogue, of company: ChannelName, if condition: Condition = .none
    ) {
        self.init(
            unchecked: catalogue.bytes, version: catalogue.version, of: company, if: condition)
    }

    /// The bytes were checked before.
    init(
        unchecked bytes: [UInt8], version: String, of company: ChannelName, if condition: Condition
    ) {
        (self.bytes, self.version) = (bytes, version)
        (self.company, self.condition) = (company, condition)
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if the condition is not met, `.malformed`
    ///   if another catalogue has this version.
    package func apply(in view: AccountsView) throws -> StoredFormsChange {
        let new = StoredForms(version: version, bytes: bytes, time: view.time)
        let current = try CatalogueStore.tag(of: company, view.db)
        guard condition.isMet(by: current) else { throw Self.conditionFailed }
        let known = try String.fetchOne(
            view.db, sql: "SELECT tag FROM forms WHERE company = ? AND version = ?",
            arguments: [company.text, new.version])
        if let known, known != new.tag { throw Self.versionTaken(new.version) }
        if known != nil, known == current { return .unchanged(new) }
        try insert(new, view.db)
        return current == nil ? .created(new) : .replaced(new)
    }

    /// The condition does not match the current catalogue.
    private static let conditionFailed = RepriseError(
        .refused, "The catalogue is not what the request expects.",
        remedy: "Get the current one, look at it, and push again.")

    private static func versionTaken(_ version: String) -> RepriseError {
        RepriseError(
            .malformed, "Version \(version) is another catalogue.",
            remedy: "Give this one a version of its own.")
    }

    private func insert(_ new: StoredForms, _ db: Database) throws {
        let last =
            try Int64.fetchOne(
                db, sql: "SELECT max(n) FROM forms WHERE company = ?", arguments: [company.text])
            ?? 0
        try db.execute(
            sql: "DELETE FROM forms WHERE company = ? AND version = ?",
            arguments: [company.text, new.version])
        try db.execute(
            sql: """
                INSERT INTO forms (company, n, version, tag, time, bytes) VALUES (?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                company.text, last + 1, new.version, new.tag, new.time.milliseconds,
                Data(new.bytes),
            ])
        try db.execute(
            sql: """
                DELETE FROM forms WHERE company = ? AND n NOT IN
                (SELECT n FROM forms WHERE company = ? ORDER BY n DESC LIMIT ?)
                """, arguments: [company.text, company.text, AccountLimits.formsVersions + 1])
    }
}
