import Foundation
package import GRDB
package import RepriseCore

/// The log of taps, actions and links, and which of them the app has presented.
package enum RouteLog {
    package static func recorded(
        _ id: EntryID, _ arrival: RouteArrival, _ info: ReminderInfo?, at now: WallTime,
        _ db: Database
    ) throws {
        let route = try info.map {
            String(decoding: try JSONEncoder().encode($0.route), as: UTF8.self)
        }
        try db.cachedStatement(
            sql: """
                INSERT INTO reminderRoute (entry, at, source, route, action) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (entry) DO NOTHING
                """
        ).execute(arguments: [
            id.text, now.milliseconds, arrival.source.rawValue, route, arrival.action,
        ])
    }

    package static func resolved(
        _ id: EntryID, _ resolved: ResolvedRoute, isDispatched: Bool, at now: WallTime,
        _ db: Database
    ) throws {
        try db.cachedStatement(
            sql: """
                UPDATE reminderRoute SET resolution = ?, reason = ?, resolved = ?, handed = handed + ?
                WHERE entry = ?
                """
        ).execute(arguments: [
            resolved.resolution.name, resolved.reason, now.milliseconds, isDispatched ? 1 : 0,
            id.text,
        ])
    }

    /// The app has acknowledged it: it is not dispatched again.
    package static func presented(_ id: EntryID, at now: WallTime, _ db: Database) throws {
        try db.cachedStatement(
            // One that came by the spool is not there yet.
            sql: """
                INSERT INTO reminderRoute (entry, at, source, presented) VALUES (?, ?, 'tap', ?)
                ON CONFLICT (entry) DO UPDATE SET presented = COALESCE(presented, excluded.presented)
                """
        ).execute(arguments: [id.text, now.milliseconds, now.milliseconds])
    }

    package static func isPresented(_ id: EntryID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT presented IS NOT NULL FROM reminderRoute WHERE entry = ?"),
            arguments: [id.text]) ?? false
    }

    package static func add(_ sentence: String, to id: EntryID, _ db: Database) throws {
        try db.cachedStatement(
            sql:
                "UPDATE reminderRoute SET reason = COALESCE(reason || ' ', '') || ? WHERE entry = ?"
        ).execute(arguments: [sentence, id.text])
    }
}
