import Foundation
import Goals
import RepriseCore
import ReprisePhone

/// A change of the goals in the demo's app, by a person who uses it.
struct GoalsCommand: Codable, Hashable, Sendable {
    enum Action: String, Codable, Sendable {
        /// Goals are made, or edited.
        case save
        /// One is deleted by hand.
        case delete
        /// Many are deleted at once.
        case deleteMany
        /// The switch of one is turned on, or off.
        case activate, pause
        /// All of them are put aside.
        case pauseAll
        /// Put aside for good.
        case archive
        /// A backup replaces everything.
        case importAll
    }

    var `do`: Action
    var ids: [String]?
    var goals: [Goal]?
    /// For an import with new ids: the new id of each old one.
    var replacing: [String: String]?

    func perform(on store: GoalStore, at now: WallTime) async throws {
        let ids = Set(ids ?? [])
        switch `do` {
        case .save: try await store.save(goals ?? [])
        case .delete, .deleteMany: try await store.delete(ids, at: now)
        case .activate: try await store.set(.active, ids)
        case .pause: try await store.pause(ids)
        case .archive: try await store.set(.archived, ids)
        case .pauseAll: try await store.pause(Set(try await store.goals().map(\.id)))
        case .importAll:
            try await store.importAll(goals ?? [], replacing: replacing ?? [:], at: now)
        }
    }
}

/// The folder of the demo app's goals, and of the commands to it while it runs.
struct GoalsFolder: Sendable {
    let url: URL

    /// - Parameter app: where the app keeps its data.
    init(of app: URL) { url = app.appendingPathComponent("goals", isDirectory: true) }

    var database: URL { url.appendingPathComponent("goals.sqlite") }
    /// The file for which a store waits that is not to be loaded yet.
    var release: URL { url.appendingPathComponent("release") }
    private var commands: URL { url.appendingPathComponent("commands", isDirectory: true) }

    func make() throws {
        try FileManager.default.createDirectory(at: commands, withIntermediateDirectories: true)
    }

    /// Leaves a command for the app, which reports `did` with its name.
    ///
    /// - Returns: its name.
    func leave(_ command: GoalsCommand) throws -> String {
        try make()
        let nanoseconds = UInt64(Date().timeIntervalSince1970 * 1e9)
        let name = "\(nanoseconds)-\(EntryID.random().text.prefix(8)).json"
        // Written beside and moved: a reader finds the whole command or none.
        try JSONEncoder().encode(command).write(
            to: commands.appendingPathComponent(name), options: .atomic)
        return name
    }

    /// The commands that wait, oldest first.
    func waiting() -> [(name: String, file: URL)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: commands.path)) ?? []
        return names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
            .map { ($0, commands.appendingPathComponent($0)) }
    }

    /// Does what is left here, until the task is cancelled.
    func obey(phone: PhoneApp, _ perform: @escaping @Sendable (GoalsCommand) async throws -> Void)
        async
    {
        while !Task.isCancelled {
            for (name, file) in waiting() {
                do {
                    let data = try Data(contentsOf: file)
                    try await perform(try JSONDecoder().decode(GoalsCommand.self, from: data))
                    try FileManager.default.removeItem(at: file)
                    await phone.report("did", name)
                } catch {
                    try? FileManager.default.removeItem(at: file)
                    await phone.report("failed", "\(name): \(error)")
                }
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
