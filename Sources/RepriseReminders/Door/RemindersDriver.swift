import Foundation
import RepriseCore
import RepriseJournal

/// Performs what `SurveyMachine` decides.
actor RemindersDriver {
    nonisolated let desk: ReminderDesk
    nonisolated let configuration: Reminders.Configuration

    init(journal: Journal, configuration: Reminders.Configuration) {
        desk = ReminderDesk(journal: journal)
        self.configuration = configuration
    }

    func began(
        _ store: any ReminderStore, _ notifications: any UserNotifications,
        _ scheduler: (any BackgroundScheduler)?
    ) throws {}

    func run() async throws {}

    /// A person tapped, or chose an action: this entity is read again, and what should ring is planned again.
    nonisolated func tapped(entity: String?) {}

    /// There is a reason to plan again.
    nonisolated func poke(_ cause: SurveyCause) {}
}
