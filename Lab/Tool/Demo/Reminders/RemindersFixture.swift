import Goals
import RepriseCore
import ReprisePhone

extension RemindersDemo {
    static func fixture(in folder: DemoFolder, _: DemoSettings) async throws -> DemoPhone {
        try await folder.phone()
    }

    static func begin(
        _ scenario: RemindersScenario, as algorithm: App, on fixture: DemoPhone, number: Int
    ) async throws -> RemindersSession {
        var app = try await fixture.begin(
            scenario, as: algorithm, number: number,
            ["reminders", "--as", algorithm.rawValue])
        app.spec.backgroundTasks = [RemindersApp.refresh]
        try await app.phone.ask(.zone("UTC"))
        let folder = GoalsFolder(of: app.phone.folder.data(of: app.id))
        try folder.make()
        let goals = GoalStore(at: folder.database)
        try await goals.load()
        try await app.install()
        try await app.phone.permit(app: app.id)
        return RemindersSession(app: app, goals: goals, leavesNoneSilent: scenario.leavesNoneSilent)
    }

    static func observe(_ session: RemindersSession, of: RemindersScenario) async throws
        -> Observation
    {
        try await session.settle()
        try await session.plan()
        return Observation(centre: try await session.centre(), heard: try await session.heard())
    }
}
