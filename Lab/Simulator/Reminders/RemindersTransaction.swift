import GRDB
package import RepriseCore
package import RepriseReminders

/// The reminders' part of a transaction on a device's store, as `ReminderPlanStore` and `RouteLog`
/// of the shipping journal.
package protocol RemindersTransaction: AnyObject {
    func reminderMarks() throws -> [ReminderOverride]
    func mark(_ mark: ReminderOverride) throws
    /// What a reconciliation found; marks that are over are forgotten.
    func write(_ record: ReconciliationRecord) throws
    func routeRecorded(_ id: EntryID, _ arrival: RouteArrival, _ info: ReminderInfo?) throws
    func routeResolved(_ id: EntryID, _ resolved: ResolvedRoute, isDispatched: Bool) throws
    func routePresented(_ id: EntryID) throws
    func isPresented(_ id: EntryID) throws -> Bool
}

extension GRDBTransaction: RemindersTransaction {
    package func reminderMarks() throws -> [ReminderOverride] { try ReminderPlanStore.marks(db) }

    package func mark(_ mark: ReminderOverride) throws {
        try ReminderPlanStore.mark(mark, in: db, at: now)
    }

    package func write(_ record: ReconciliationRecord) throws {
        try ReminderPlanStore.write(record, in: db)
    }

    package func routeRecorded(
        _ id: EntryID, _ arrival: RouteArrival, _ info: ReminderInfo?
    ) throws {
        try RouteLog.recorded(id, arrival, info, at: now, db)
    }

    package func routeResolved(
        _ id: EntryID, _ resolved: ResolvedRoute, isDispatched: Bool
    ) throws {
        try RouteLog.resolved(id, resolved, isDispatched: isDispatched, at: now, db)
    }

    package func routePresented(_ id: EntryID) throws { try RouteLog.presented(id, at: now, db) }

    package func isPresented(_ id: EntryID) throws -> Bool { try RouteLog.isPresented(id, db) }

    /// As the model writes it; nothing where the feature is not part of the journal.
    static func remindersDump(_ db: Database) throws -> [String] {
        guard try db.tableExists("reminderMark") else { return [] }
        let routes = try Row.fetchAll(
            db,
            sql: "SELECT entry, resolution, handed, presented NOTNULL FROM reminderRoute")
        return try ReminderPlanStore.marks(db).map(RemindersModel.line)
            + routes.map { RemindersModel.line($0[0], $0[1], $0[2], $0[3]) }.sorted()
    }
}

extension ComparedTransaction: RemindersTransaction {
    package func reminderMarks() throws -> [ReminderOverride] {
        try both("marks") { try $0.reminderMarks() }
    }

    package func mark(_ mark: ReminderOverride) throws {
        try both("mark \(mark.key)") { try $0.mark(mark) }
    }

    package func write(_ record: ReconciliationRecord) throws {
        try both("a reconciliation") { try $0.write(record) }
    }

    package func routeRecorded(
        _ id: EntryID, _ arrival: RouteArrival, _ info: ReminderInfo?
    ) throws {
        try both("route \(id)") { try $0.routeRecorded(id, arrival, info) }
    }

    package func routeResolved(
        _ id: EntryID, _ resolved: ResolvedRoute, isDispatched: Bool
    ) throws {
        try both("resolved \(id)") {
            try $0.routeResolved(id, resolved, isDispatched: isDispatched)
        }
    }

    package func routePresented(_ id: EntryID) throws {
        try both("presented \(id)") { try $0.routePresented(id) }
    }

    package func isPresented(_ id: EntryID) throws -> Bool {
        try both("is presented \(id)") { try $0.isPresented(id) }
    }
}
