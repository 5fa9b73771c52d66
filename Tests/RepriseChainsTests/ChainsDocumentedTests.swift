import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

private struct ListFolder: Worker {
    static let identifier = "list-folder"

    func run(_ folder: String, _ work: WorkContext) async throws -> [String] {
        folder == "empty" ? [] : ["1.jpg", "2.jpg"]
    }
}

private struct Shrink: Worker {
    static let identifier = "shrink"

    func run(_ name: String, _ work: WorkContext) async throws -> String { name }
}

private struct Check: Worker {
    static let identifier = "check"

    func run(_ name: String, _ work: WorkContext) async throws -> String { name }
}

private struct Tell: Worker {
    static let identifier = "tell"

    func run(_ text: String, _ work: WorkContext) async throws -> String { text }
}

/// The examples of docs/chains.md and docs/chains/periodic.md, as they stand there.
@Suite("Chains, documented", .timeLimit(.minutes(1)))
struct ChainsDocumentedTests {
    @Test("The example of docs/chains.md compiles and does what it says")
    func example() async throws {
        let temporary = try TemporaryFolder()
        let folder = temporary.appending("journal")
        let (inbox, kept) = (temporary.appending("inbox"), temporary.appending("kept"))
        var configuration = RepriseConfiguration(server: "http://127.0.0.1:1")
        configuration.folder = folder
        configuration.dialer = MemoryDialer()
        for place in [inbox, kept] {
            try FileManager.default.createDirectory(
                at: place, withIntermediateDirectories: true)
        }
        for name in ["1.jpg", "2.jpg"] {
            try Data(name.utf8).write(to: inbox.appendingPathComponent(name))
        }
        struct Label: Worker {
            static let identifier = "label"

            func run(_ bytes: Int64, _ work: WorkContext) async throws -> String {
                "\(bytes) bytes"
            }
        }

        let keepPhotos = Chain<[String]>("keep-photos") { names in
            Parallel {
                for name in names {
                    Work("copy-\(name)", CopyFileWorker.self) { _ in
                        .init(SandboxPath("inbox", name), to: SandboxPath("kept", name))
                    }
                    .retry(attempts: 5)
                    .compensation(with: DeleteFileWorker.self) { _ in
                        .init(SandboxPath("kept", name))
                    }
                }
            }
            WaitFor(for: Readiness("unlocked"))
            let hash = Work("hash", HashFileWorker.self) { _ in
                .init(SandboxPath("kept", names[0]))
            }
            hash
            Work("label", Label.self) { done in try done[hash].bytes }.deadline(.seconds(60))
        }

        let standard = StandardWorkers(sandbox: Sandbox(["inbox": inbox, "kept": kept]))
        configuration.chains = .init(workers: standard.all + [Label()], chains: [keepPhotos])
        let client = RepriseClient(configuration)
        let running = Task { try await client.run() }  // continues all chains

        // Durable when it returns.
        let id = try await client.chains.start(keepPhotos, input: ["1.jpg", "2.jpg"])
        for await progress in try await client.chains.progress(of: id) {
            print("\(progress.done) of \(progress.total)")
            if progress.done == 2 { await client.setReady(Readiness("unlocked")) }
        }
        let label = try await client.chains.output(of: "label", by: Label.self, in: id)
        #expect(label == "5 bytes")
        #expect(try await client.chains.status(id)?.state == .succeeded)
        #expect(
            try Data(contentsOf: kept.appendingPathComponent("2.jpg")) == Data("2.jpg".utf8))
        running.cancel()
        _ = await running.result
        await client.close()
    }

    @Test("Decisions, notifications, lists and removal do what docs/chains.md says")
    func choices() async throws {
        let temporary = try TemporaryFolder()
        let makeSheet = Chain<[String]>("make-sheet") { names in
            for name in names { Work("shrink-\(name)", Shrink.self) { _ in name } }
        }

        let sendFolder = Chain<String>("send-folder") { folder in
            let list = Work("list", ListFolder.self) { _ in folder }
            list
            When("any") { done in
                try !done[list].isEmpty
            } then: {
                Each("files", of: { done in try done[list] }) { name in
                    Work("check-\(name)", Check.self) { _ in name }
                }
                Subchain("sheet", makeSheet) { done in try done[list] }
            } else: {
                Work("tell", Tell.self) { _ in "\(folder) is empty." }
            }
        }

        let sending = sendFolder.notification { folder, progress in
            switch progress.state {
            case .succeeded: .init(title: "\(folder) is sent", sound: true)
            case .failed: .init(title: "\(folder) was not sent", body: progress.reason ?? "")
            case .cancelled: nil
            default:
                .init(title: "Sending \(folder)", body: "\(progress.done) of \(progress.total)")
            }
        }

        let system = MemoryNotifications(clock: ManualClock())
        var configuration = RepriseConfiguration(server: "http://127.0.0.1:1")
        configuration.folder = temporary.appending("journal")
        configuration.dialer = MemoryDialer()
        configuration.chains = .init(
            workers: [ListFolder(), Shrink(), Check(), Tell()], chains: [sending])
        let without = RepriseClient(configuration)
        await #expect(throws: RepriseError.self) { _ = try await without.chains }
        await without.close()
        configuration.notifications = system.connect()
        let client = RepriseClient(configuration)
        let running = Task { try await client.run() }
        let chains = try await client.chains
        let watching = Task {
            for await change in chains.changes() {
                print(change.id, change.definition, change.progress.state, change.missed)
            }
        }
        for folder in ["photos", "empty"] {
            let id = try await chains.start(sending, input: folder)
            for await _ in chains.progress(of: id) {}
            let names = try await chains.status(id)?.tasks.map(\.name)
            let all = [
                "list", "any", "files", "check-1.jpg", "check-2.jpg", "sheet",
                "sheet/shrink-1.jpg", "sheet/shrink-2.jpg",
            ]
            #expect(names == (folder == "empty" ? ["list", "any", "tell"] : all))
            try await eventually("its result is shown") {
                system.delivered.contains { $0.request.content.title == "\(folder) is sent" }
            }
        }
        let stuck = ChainFilter(states: [.running], olderThan: .seconds(86_400))
        for chain in try await chains.list(stuck) { try await chains.cancel(chain.id) }
        let id = try #require(try await chains.list().first?.id)
        try await chains.delete(id)
        try await chains.clear(olderThan: .seconds(3_600))
        #expect(try await chains.list().count == 1)
        watching.cancel()
        running.cancel()
        _ = await running.result
        await client.close()
    }

    @Test("The example of docs/chains/periodic.md compiles and does what it says")
    func periodic() async throws {
        let temporary = try TemporaryFolder()
        var configuration = RepriseConfiguration(server: "http://127.0.0.1:1")
        configuration.folder = temporary.appending("journal")
        configuration.dialer = MemoryDialer()
        struct RemoveOld: Worker {
            static let identifier = "remove-old"

            func run(_ days: Int, _ work: WorkContext) async throws -> Int { 0 }
        }

        let tidyUp = Chain<Int>("tidy-up") { days in
            Work("remove-old", RemoveOld.self) { _ in days }
        }

        configuration.chains = .init(workers: [RemoveOld()], chains: [tidyUp])
        let client = RepriseClient(configuration)
        let running = Task { try await client.run() }

        // At each launch, durable when it returns: daily at 03:00 where the device is.
        let chains = try await client.chains
        try await chains.schedule(
            tidyUp, input: 30, name: "tidy-up",
            runs: .calendar(Schedule(.daily, at: [TimeOfDay(3, 0)])),
            constraints: ChainConstraints(charging: true))

        // Every six hours.
        try await chains.schedule(
            tidyUp, input: 1, name: "tidy-often", runs: .every(.seconds(6 * 3_600)))

        for schedule in try await chains.schedules() {
            print(
                schedule.name, schedule.next as Any, schedule.lastState as Any,
                schedule.reason ?? "")
        }
        try await chains.unschedule("tidy-often")
        let left = try await chains.schedules()
        #expect(left.map { $0.name } == ["tidy-up"])
        #expect(left.first?.next != nil)
        running.cancel()
        _ = await running.result
        await client.close()
    }
}
