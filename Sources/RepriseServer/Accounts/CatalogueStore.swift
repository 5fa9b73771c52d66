import Foundation
import GRDB
import RepriseCore
package import RepriseWire

/// Catalogues of forms: each company's current version and earlier ones.
package final class CatalogueStore: Sendable {
    private let database: AccountsDatabase

    init(_ database: AccountsDatabase) { self.database = database }

    /// The tag of the current catalogue; nil if the company has none.
    package func tag(of company: ChannelName) async throws -> String? {
        try await database.read { try Self.tag(of: company, $0) }
    }

    /// The current catalogue; nil if the company has none.
    package func current(of company: ChannelName) async throws -> StoredForms? {
        try await database.read { db in
            try Row.fetchOne(
                db, sql: "SELECT * FROM forms WHERE company = ? ORDER BY n DESC LIMIT 1",
                arguments: [company.text]
            ).map(StoredForms.init(row:))
        }
    }

    /// The stored versions, the current one first.
    package func versions(of company: ChannelName) async throws -> [String] {
        try await database.read { db in
            try String.fetchAll(
                db, sql: "SELECT version FROM forms WHERE company = ? ORDER BY n DESC",
                arguments: [company.text])
        }
    }

    static func tag(of company: ChannelName, _ db: Database) throws -> String? {
        try String.fetchOne(
            db, sql: "SELECT tag FROM forms WHERE company = ? ORDER BY n DESC LIMIT 1",
            arguments: [company.text])
    }
}
