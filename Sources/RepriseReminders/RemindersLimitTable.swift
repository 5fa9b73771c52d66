package import RepriseCore

private let configuration = Reminders.Configuration()
private let reconciliation = ReconciliationMachine.Settings()

extension LimitTable {
    /// Printed into `docs/limits/reminders.md`.
    package static let schedules: Self = LimitTable(
        "reminders", "Schedules and plans",
        "",
        [
            Limit(
                "schedules.places", "planned pending notifications; with the app's own",
                "\(ReminderLimits.places); \(ReminderEngineLimits.system)",
                "not planned; `guaranteedUntil` tells from when"),
            Limit(
                "schedules.entities", "entities with reminders; their reminders; of one entity",
                """
                \(ReminderLimits.entities); \(ReminderLimits.reminders); \
                \(ReminderLimits.entityReminders)
                """,
                "`.full` for those beyond it; the others are planned"),
            Limit(
                "schedules.marks", "snoozes, skips and tests of a plan; a skipped day is one",
                "\(ReminderLimits.marks)", "`.full`"),
            Limit(
                "schedules.schedule",
                "times of a day; skipped days; counted occurrences; the interval of `every`",
                """
                \(ReminderLimits.times); \(ReminderLimits.skipped); \(ReminderLimits.count); \
                \(ReminderLimits.intervalDays) days
                """,
                "`.malformed`"),
            Limit(
                "schedules.barrenDays", "consecutive days of a rule without an occurrence",
                "\(OccurrenceCursor.barrenDays)", "the schedule ends"),
            Limit(
                "schedules.lastYear", "the last year of a calendar",
                "\(verbatim: "\(LocalDate.lastYear)")",
                "the schedule ends"),
            Limit(
                "schedules.texts", "a reminder's id, and its category; title; body",
                """
                \(ReminderLimits.idBytes); \(ReminderLimits.titleBytes); \
                \(bytes: ReminderLimits.bodyBytes)
                """,
                "`.badID`, `.tooLarge`; left out and reported"),
        ])

    /// Printed into `docs/limits/reminders.md`.
    package static let reminders: Self = LimitTable(
        "reminders", "The engine",
        "",
        [
            Limit(
                "reminders.requests", "the system's pending requests, the app's own included",
                "\(ReminderEngineLimits.system)", "so many fewer are planned"),
            Limit(
                "reminders.marks", "stored snoozes, skips and tests",
                "\(ReminderEngineLimits.marks)",
                "past skips and snoozes are removed; then `.full`"),
            Limit(
                "reminders.skip", "a skip, after its day; a snooze, after it has rung",
                "\(seconds: ReminderEngineLimits.skipSeconds)",
                "forgotten; a calendar set back farther rings it"),
            Limit(
                "reminders.snooze", "a snooze, a test",
                "a second to \(seconds: ReminderEngineLimits.snoozeSeconds)", "`.malformed`"),
            Limit(
                "reminders.decisions", "stored decisions", "\(ReminderEngineLimits.decisions)",
                "the oldest are removed"),
            Limit(
                "reminders.changed", "entities that one change names",
                "\(ReminderEngineLimits.changed)", "a change of everything"),
            Limit(
                "reminders.store", "the app's store returns the reminders",
                "\(configuration.storeTimeout) (settable)",
                """
                retried after \(reconciliation.reconciling.base), doubling to \
                \(reconciliation.reconciling.longest), with full jitter
                """),
            Limit(
                "reminders.lookUp", "the app's store looks an entity up",
                "\(configuration.lookUpTimeout) (settable)",
                "the notification stays until the next reconciliation"),
            Limit(
                "reminders.system",
                "a call of the notification centre, of the background scheduler",
                "\(configuration.systemTimeout) (settable)",
                "retried like the store; a refresh with the next reconciliation"),
            Limit(
                "reminders.abandoned", "abandoned calls of the store, of the system",
                "\(ReminderEngineLimits.abandoned) each", "no call is made until one returns"),
            Limit(
                "reminders.loading", "waits between attempts to load the store",
                """
                \(reconciliation.loading.base), doubling to \(reconciliation.loading.longest), \
                with full jitter
                """,
                "retried without end"),
            Limit(
                "reminders.refresh", "a background refresh is requested",
                "at least \(seconds: ReminderEngineLimits.refreshSeconds) ahead", "–"),
            Limit(
                "reminders.ringing", "a due request that has not rung",
                "\(seconds: ReminderEngineLimits.ringingSeconds)", "removed"),
            Limit(
                "reminders.lookUps", "delivered notifications that one reconciliation looks up",
                "\(ReminderEngineLimits.lookUps)", "the next one has the others"),
            Limit(
                "reminders.slots", "background slots that wait for a reconciliation",
                "\(ReminderEngineLimits.slots)", "returned at once, without success"),
            Limit(
                "reminders.database",
                "actions that have taken effect, and deleted entities, in the app's database",
                "\(ReminderEngineLimits.stored) each",
                "the oldest are removed; a tap on such an entity is `missing`"),
            Limit(
                "reminders.clocks", "the clocks are read in the foreground",
                "every \(reconciliation.tick)", "–"),
        ])

    /// Printed into `docs/limits/reminders.md`.
    package static let taps: Self = LimitTable(
        "reminders", "Taps",
        "",
        [
            Limit(
                "taps.payload", "a payload",
                """
                \(bytes: RouteLimits.payloadBytes), \(RouteLimits.payloadDepth) levels, \
                \(verbatim: "64") members
                """,
                "`malformed(.notJSON)`"),
            Limit(
                "taps.route", "a sort; an id and a part; an owner",
                """
                \(RouteLimits.routeSort); \(RouteLimits.routeID); \
                \(bytes: RouteLimits.routeOwner)
                """,
                "`malformed(.invalid)`"),
            Limit(
                "taps.link", "a deep link", "\(bytes: RouteLimits.link)",
                "`malformed(.invalid(field: \"link\"))`"),
            Limit(
                "taps.reply", "text typed into a notification", "\(bytes: RouteLimits.answer)",
                "cut"),
            Limit(
                "taps.rules", "rules for actions; readers", "\(RouteLimits.rules) each",
                "`.badConfiguration`"),
            Limit(
                "taps.snooze", "the snooze of a rule",
                """
                \(seconds: RouteLimits.leastSnoozeSeconds) to \
                \(seconds: ReminderEngineLimits.snoozeSeconds)
                """,
                "`.badConfiguration`"),
            Limit(
                "taps.inFlight", "taps, and actions, in flight", "\(RouteLimits.inFlight) each",
                "the others wait in the journal"),
            Limit(
                "taps.lookUp", "the app's store looks an entity up",
                "\(configuration.lookUpTimeout) (settable)", "failed; retried after a wait"),
            Limit(
                "taps.waits", "waits between look-ups, and between attempts of an action",
                """
                \(ReminderRouting.backoff.base), doubling to \(ReminderRouting.backoff.longest), \
                with full jitter
                """,
                "–"),
            Limit(
                "taps.slowLookUp", "a look-up delays the next taps",
                "\(milliseconds: RouteLimits.slowLookUpMilliseconds)", "they continue"),
            Limit(
                "taps.effect", "`received` waits for the effect of a button",
                "\(seconds: RouteLimits.actionSeconds)",
                "it returns; the action is done at the next opportunity"),
            Limit(
                "taps.effectsLeft", "abandoned waits for effects of buttons",
                "\(RouteLimits.actionsLeft)", "`received` does not wait"),
            Limit(
                "taps.firstTap", "the first reconciliation waits for a tap's look-up",
                "\(milliseconds: RouteLimits.firstTapMilliseconds)", "both continue"),
            Limit(
                "taps.lookUpsAgain", "look-ups repeated because the entity has changed",
                "\(RouteLimits.lookUpsAgain)", "the last answer counts"),
            Limit(
                "taps.changed", "changed entities that a look-up remembers",
                "\(ReminderEngineLimits.changed)", "any may have changed"),
            Limit(
                "taps.abandoned", "abandoned look-ups", "\(RouteLimits.abandonedLookUps)",
                "no call is made until one returns"),
            Limit(
                "taps.life", "a tap waits for the store and the screen", "without limit (settable)",
                "`expired`"),
        ])
}
