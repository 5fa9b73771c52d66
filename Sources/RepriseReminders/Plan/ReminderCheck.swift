import RepriseCore

/// Checks an app's reminders before they are planned.
enum ReminderCheck {
    static func entity(_ entity: RemindedEntity, others: Int) -> RepriseError? {
        guard (1...RouteLimits.routeID).contains(entity.id.utf8.count) else {
            return RepriseError(
                .badID, "An entity's id must have 1 to \(RouteLimits.routeID) bytes.",
                remedy: "Give it the id by which the app's store knows it.")
        }
        guard (entity.owner?.utf8.count ?? 1) <= RouteLimits.routeOwner else {
            return RepriseError(
                .tooLarge, "An owner's name may have at most \(RouteLimits.routeOwner) bytes.",
                remedy: "Use a shorter name, as an account's id.")
        }
        guard others < ReminderLimits.entities else {
            return RepriseError(
                .full, "Only \(ReminderLimits.entities) entities are reminded of.",
                remedy: "Give those alone that are in use and have reminders.")
        }
        return nil
    }

    static func reminder(
        _ reminder: Reminder, isNew: Bool, isRoom: Bool
    ) throws(RepriseError) {
        guard isRoom else {
            throw RepriseError(
                .full,
                "An entity may have \(ReminderLimits.entityReminders) reminders, and all together "
                    + "\(ReminderLimits.reminders).",
                remedy: "Join reminders: a schedule may name \(ReminderLimits.times) times a day.")
        }
        guard isNew else {
            throw RepriseError(
                .malformed, "Another reminder of this entity has the same id.",
                remedy: "Give each reminder of an entity an id of its own.")
        }
        try content(reminder)
        do { try reminder.schedule.check() } catch let error as RepriseError { throw error } catch {
            throw RepriseError(.internal, "A schedule could not be checked.", cause: error)
        }
    }

    static func content(_ reminder: Reminder) throws(RepriseError) {
        guard (1...ReminderLimits.idBytes).contains(reminder.id.utf8.count) else {
            throw RepriseError(
                .badID, "A reminder's id must have 1 to \(ReminderLimits.idBytes) bytes.",
                remedy: "Give it an id that stays the same as long as it is the same reminder.")
        }
        guard (1...RouteLimits.routeID).contains(reminder.part?.utf8.count ?? 1) else {
            throw RepriseError(
                .badID, "A part's id must have 1 to \(RouteLimits.routeID) bytes.",
                remedy: "Leave the part away where the reminder is about the entity as a whole.")
        }
        guard !reminder.title.isEmpty || !reminder.body.isEmpty else {
            throw RepriseError(
                .malformed, "A reminder has neither title nor body: the system would show nothing.",
                remedy: "Give it a title.")
        }
        guard reminder.title.utf8.count <= ReminderLimits.titleBytes,
            reminder.body.utf8.count <= ReminderLimits.bodyBytes,
            reminder.category.utf8.count <= ReminderLimits.idBytes
        else {
            throw RepriseError(
                .tooLarge,
                "A title may have \(ReminderLimits.titleBytes) bytes, a body "
                    + "\(ReminderLimits.bodyBytes), a category \(ReminderLimits.idBytes).",
                remedy: "Say it in fewer words: a banner shows four lines.")
        }
    }
}
