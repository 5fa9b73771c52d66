import ArgumentParser
import Goals
import Reprise
import RepriseCore
import RepriseNIO
import ReprisePhone
import RepriseReminders
import RepriseSimulator

/// Which app takes the taps of the demo: the same system, the same goals, another way to find out
/// where a tap leads.
enum RemindersAlgorithm: String, ExpressibleByArgument, ScenarioApp {
    /// The original app of `case-reminder-routing`: the goal is looked up at once.
    case first
    /// Its repair: looked up after 100 ms, and once more after 50.
    case repaired
    case reprise
}

/// `reprise-lab app reminders`: an app with reminders of goals.
///
/// It reports to the phone's log: `process`; `journal`; `loaded` when the goals are; `did` with the
/// name of a command; `recorded` with a tap's id; `route` with its resolution and the reason;
/// `screen` with the visible screen; `presented` with the entry's id.
struct RemindersAppCommand: AsyncParsableCommand {
    static let configuration = AppHelp.of("reminders", "An app with reminders of goals.")

    @Option(name: .customLong("as"), help: .algorithm) var algorithm = RemindersAlgorithm.reprise
    @Option(help: "How many milliseconds the goals take to load.") var storeDelay = 0
    @Flag(help: "Loading them waits until the demo lets it go on.") var storeWaits = false
    @Option(help: "How often loading them fails before it succeeds.") var storeFailures = 0
    @Option(help: "The signed-in user.") var owner: String?
    @Option(help: "How many milliseconds pass from a tap to its screen.") var screenDelay = 0
    @Flag(help: "Dies when it has shown a screen, before it has said so.")
    var dieBeforePresented = false
    @Option(help: "Dies after so many changes of what rings, before the next.")
    var dieAfterChanges: Int?

    func run() async throws {
        let phone = try await PhoneApp.connect()
        await phone.report("process")
        let folder = GoalsFolder(of: phone.folder)
        try folder.make()
        var faults = GoalStore.Faults()
        faults.loading = .milliseconds(storeDelay)
        faults.failures = storeFailures
        faults.awaited = storeWaits ? folder.release : nil
        let goals = GoalStore(at: folder.database, faults: faults)
        switch algorithm {
        case .reprise:
            let screen = GoalsScreen(
                phone: phone, delay: .milliseconds(screenDelay), dies: dieBeforePresented)
            try await RemindersApp(
                phone: phone, folder: folder, goals: goals, owner: owner, screen: screen,
                diesAfterChanges: dieAfterChanges
            ).run()
        case .first: await OriginalRemindersApp(.first, phone: phone, folder: folder, goals).run()
        case .repaired:
            await OriginalRemindersApp(.repaired, phone: phone, folder: folder, goals).run()
        }
    }
}

/// An app as an engineer writes it with Reprise; beside that it reports what it does to the phone's
/// log.
struct RemindersApp: Sendable {
    static let refresh = "goals.refresh"

    let phone: PhoneApp
    let folder: GoalsFolder
    let goals: GoalStore
    let owner: String?
    let screen: GoalsScreen
    let diesAfterChanges: Int?

    func run() async throws {
        let reprise = try await AccountClient.open(
            at: phone.folder, server: "http://127.0.0.1:1", dialer: NIODialer(),
            configuration: configuration)
        await phone.report("journal")
        guard let reminders = reprise.reminders, let settings = configuration.reminders else {
            return
        }
        let taps = RecordedTaps(phone: phone) { try await reminders.received($0) }
        if let response = phone.launch.response { await taps.received(response) }
        try await phone.notifications.setCategories(settings.categories)
        if phone.launch.isForeground { await reprise.setReady(.ui) }
        let store = ReportingGoals(goals: goals, phone: phone)
        let notifications: any UserNotifications =
            diesAfterChanges.map { DyingNotifications(phone.notifications, after: $0) }
            ?? phone.notifications
        try await untilOneEnds(
            {
                try await reminders.run(
                    store: store, notifications: notifications, scheduler: phone.scheduler)
            },
            { for await tap in reminders.routes { await screen.show(tap) } },
            {
                try await store.loaded()
                await folder.obey(phone: phone) { [phone, goals] command in
                    try await command.perform(on: goals, at: phone.timekeeper.wall())
                }
            },
            {
                await phone.run(
                    life: ScreenLife(reprise: reprise), notifications: taps,
                    tasks: { await reminders.slot($0) })
            })
    }

    private var configuration: AccountClient.Configuration {
        var reminders = Reminders.Configuration()
        reminders.timekeeper = phone.timekeeper
        reminders.zone = { [phone] in phone.zone }
        reminders.owner = owner
        reminders.refreshTask = Self.refresh
        reminders.actions = GoalActions.rules
        var configuration = AccountClient.Configuration()
        configuration.reminders = reminders
        configuration.journal.timekeeper = phone.timekeeper
        return configuration
    }
}

/// The buttons on the reminders of goals.
enum GoalActions {
    static let category = "goal"

    static let rules = [
        ReminderActionRule(
            "log", category: category, title: "Answer…", does: .log, asksForText: true),
        ReminderActionRule("yes", category: category, title: "Yes", does: .log),
        ReminderActionRule(
            "later", category: category, title: "In 10 minutes", does: .snooze(.seconds(600))),
        ReminderActionRule("skip", category: category, title: "Not today", does: .skipToday),
        ReminderActionRule("pause", category: category, title: "Pause", does: .pause),
    ]
}

/// The goals, with reports to the log.
private struct ReportingGoals: ReminderStore {
    let goals: GoalStore
    let phone: PhoneApp
    private let signal = StateBroadcaster(false)

    func loaded() async throws {
        for await isLoaded in signal.watch() where isLoaded { return }
    }

    func load() async throws {
        do {
            try await goals.load()
        } catch {
            await phone.report("notLoaded")
            throw error
        }
        await phone.report("loaded")
        signal.announce(true)
    }

    func find(_ route: Route) async throws -> EntityFinding {
        try await goals.reminders.find(route)
    }
    func reminded() async throws -> [RemindedEntity] { try await goals.reminders.reminded() }
    func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] {
        try await goals.reminders.reminded(ids)
    }
    var changes: AsyncStream<ReminderChange> { goals.reminders.changes }
    func isApplied(_ id: EntryID) async throws -> Bool {
        try await goals.reminders.isApplied(id)
    }

    func apply(_ command: ReminderCommand) async throws {
        try await goals.reminders.apply(command)
        await phone.report("applied", "\(command.action) \(command.entity.id)")
    }
}
