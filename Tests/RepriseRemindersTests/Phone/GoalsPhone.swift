import Foundation
import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Testing

/// A real phone with the demo's app on it, and its goals.
struct GoalsPhone: Sendable {
    static let app = "goals"

    let phone: Phone
    /// The app's database, from outside.
    let goals: GoalStore

    /// Plays a scenario, and leaves nothing behind however it ends.
    static func play(
        _ arguments: String..., goals: [Goal] = [.read], rules: PhoneRules? = nil,
        _ body: (GoalsPhone) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let phone = try await Phone.start(
            in: folder.url.appendingPathComponent("p"), supervisor: .tool(.sibling("reprise-lab")),
            rules: rules)
        do {
            let data = phone.folder.data(of: app).appendingPathComponent("goals")
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
            let store = GoalStore(at: data.appendingPathComponent("goals.sqlite"))
            try await store.load()
            try await store.save(goals)
            let stage = GoalsPhone(phone: phone, goals: store)
            try await stage.install(arguments)
            try await phone.permit()
            try await body(stage)
        } catch {
            await phone.end()
            throw error
        }
        await phone.end()
    }

    /// Installs the app, or its next version.
    func install(_ arguments: [String] = []) async throws {
        try await phone.install(
            PhoneAppSpec(
                id: Self.app, executable: URL.sibling("reprise-lab").path,
                arguments: ["app", "reminders"] + arguments, backgroundTasks: ["goals.refresh"]))
    }

    /// A notification with this payload rings.
    func rings(_ info: String, category: String = "") async throws {
        let rest = info.dropFirst().dropLast()
        try await phone.push(
            #"{"aps":{"alert":{"title":"Reminder"},"category":"\#(category)"}\#(rest.isEmpty ? "" : ",")\#(rest)}"#
        )
        try await phone.expects(.phone(.delivered))
    }

    func screen(_ text: String) async throws { try await phone.expects(.report("screen", text)) }

    /// The app does something to its goals, which runs.
    func does(_ command: String) async throws {
        let folder = phone.folder.data(of: Self.app).appendingPathComponent("goals/commands")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let name = "\(EntryID.random().text).json"
        try Data(command.utf8).write(
            to: folder.appendingPathComponent(name), options: .atomic)
        try await phone.expects(.report("did", name))
    }

    /// The app's store, which waits for it, is loaded.
    func releaseStore() throws {
        let goals = phone.folder.data(of: Self.app).appendingPathComponent("goals")
        try Data().write(to: goals.appendingPathComponent("release"))
    }

    /// What the system has been asked to ring.
    func pending(_ count: Int) async throws {
        try await eventually("\(count) are pending") {
            try await phone.app().pending.count == count
        }
    }

    /// Milliseconds from one report to another, as the phone has seen them.
    func milliseconds(from first: String, to second: String) async throws -> Double {
        let log = try await phone.log()
        let (start, end) = (log.last { $0.what == first }, log.last { $0.what == second })
        return Double((end?.microseconds ?? 0) - (start?.microseconds ?? 0)) / 1_000
    }
}

extension Goal {
    /// Asked every morning.
    static let read = Goal.named("read")

    static func named(_ id: String) -> Goal {
        Goal(
            id: id, title: "Title of \(id)",
            questions: [
                Question(id: "pages", title: "Pages?", kind: .number),
                Question(id: "liked", title: "Liked it?", kind: .yesNo),
            ],
            reminders: [
                Reminder(
                    id: "morning", part: "pages",
                    schedule: RepriseCore.Schedule(.daily, at: [TimeOfDay(7, 30)]),
                    title: "Time to \(id)", category: "goal")
            ])
    }
}
