import Foundation
import RepriseTestSupport
import RepriseTesting
import RepriseUI
import Testing

@MainActor @Suite("State Viewer and debug screen", .timeLimit(.minutes(1)))
struct ScreenTests {
    private struct Copy: Worker {
        static let identifier = "copy"

        func run(_ name: String, _ work: WorkContext) async throws -> String {
            guard name != "missing" else { throw DispatchFailure.permanent("There is no missing.") }
            return name
        }
    }

    private let folder: TemporaryFolder
    private let server = MemoryServer()
    private let photos = Chain<[String]>("import-photos", version: 2) { names in
        Parallel {
            for name in names { Work("copy-\(name)", Copy.self) { _ in name } }
        }
        WaitFor(for: Readiness("wifi"), name: "wifi")
        Work("done", Copy.self) { _ in "done" }
    }

    init() throws { folder = try TemporaryFolder() }

    private func client(_ configure: (inout RepriseConfiguration) -> Void = { _ in })
        -> RepriseClient
    {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = server
        configuration.connectsAnonymously = true
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(1), longest: .milliseconds(5))
        configuration.chains = Chains.Configuration()
        configuration.chains?.workers = [Copy()]
        configuration.chains?.chains = [photos]
        configure(&configuration)
        return RepriseClient(configuration)
    }

    @Test("The viewer lists chains newest first, and shows each one's steps, waits, errors and log")
    func viewer() async throws {
        let client = client()
        let viewer = ChainsModel(client, timeZone: .gmt)
        #expect(viewer.placeholder == nil, "nothing is read yet")
        await viewer.refresh()
        #expect(viewer.rows.isEmpty && viewer.placeholder == "No chain was started")
        let running = Task { try await client.run() }
        let waiting = try await client.chains.start(photos, input: ["1", "2"], name: "monday")
        let failing = try await client.chains.start(photos, input: ["3", "missing"])
        try await eventually("one has failed, one waits") {
            await viewer.refresh()
            return viewer.rows.map(\.state) == ["failed", "running"]
                && viewer.rows.last?.progress == "2 of 4 tasks"
        }
        #expect(viewer.rows.map(\.id) == [failing, waiting])
        #expect(viewer.rows.map(\.title) == ["import-photos 2", "import-photos 2"])
        #expect(viewer.rows.map(\.name) == [nil, "monday"])
        #expect(viewer.rows.map(\.tone) == [.bad, .good])
        #expect(viewer.rows.last?.fraction == 0.5)
        #expect(viewer.rows.first?.reason?.contains("There is no missing.") == true)
        #expect(viewer.rows.first?.time.contains(", took ") == true)
        viewer.filter = .open
        #expect(viewer.rows.map(\.id) == [waiting])
        viewer.filter = .ended
        #expect(viewer.rows.map(\.id) == [failing])

        let chain = viewer.detail(of: waiting)
        await chain.refresh()
        let detail = try #require(chain.detail)
        #expect(detail.facts.map(\.id) == ["Id", "Name", "State", "Progress", "Started"])
        #expect(detail.steps.map(\.title) == ["Step 1 of 3", "Step 2 of 3", "Step 3 of 3"])
        #expect(detail.steps.map(\.isCurrent) == [false, true, false])
        #expect(detail.steps[0].tasks.map(\.id) == ["copy-1", "copy-2"])
        #expect(detail.steps[0].tasks.allSatisfy { $0.state == "succeeded" && $0.worker == "copy" })
        #expect(detail.steps[0].tasks[0].attempts?.hasPrefix("1 attempt, took ") == true)
        let wait = try #require(detail.steps[1].tasks.first)
        #expect(wait.worker == "waits" && wait.state == "waiting" && wait.tone == .waiting)
        #expect(wait.lines == ["Waits for the readiness wifi"])
        #expect(detail.steps[2].tasks.map(\.state) == ["blocked"])
        #expect(detail.actions == [.pause, .cancel])

        let failed = viewer.detail(of: failing)
        await failed.refresh()
        let task = failed.detail?.steps[0].tasks.first { $0.id == "copy-missing" }
        #expect(task?.state == "failed" && task?.tone == .bad)
        #expect(task?.lines.contains { $0.contains("There is no missing.") } == true)
        #expect(failed.detail?.actions == [.retry])
        #expect(failed.detail?.steps.contains { $0.isCurrent } == false)
        running.cancel()
        try await running.value
        await client.close()
    }

    @Test("A person's commands in the viewer are carried out by the chain")
    func actions() async throws {
        let client = client()
        let running = Task { try await client.run() }
        let id = try await client.chains.start(photos, input: ["1"])
        let chain = ChainDetailModel(id, of: client)
        for (action, state) in [(ChainAction.pause, "paused"), (.resume, "running")]
            + [(.cancel, "cancelled"), (.retry, "running")]
        {
            try await eventually("it may \(action)") {
                await chain.refresh()
                return chain.detail?.actions.contains(action) == true
            }
            await chain.perform(action)
            #expect(chain.fault == nil)
            try await eventually("it is \(state)") {
                await chain.refresh()
                return chain.detail?.row.state == state
            }
        }
        let none = ChainDetailModel(ChainID("none"), of: client)
        await none.refresh()
        #expect(none.detail == nil && none.fault?.code == .noSuchChain)
        await none.perform(.cancel)
        #expect(none.fault?.code == .noSuchChain)
        running.cancel()
        try await running.value
        await client.close()
    }

    @Test("Each state allows what makes sense, and only cancelling asks first")
    func allowed() {
        for state in ChainState.allCases {
            let actions = ChainAction.allowed(in: state)
            #expect(actions.contains(.retry) == [.failed, .cancelled].contains(state))
            #expect(actions.contains(.resume) == [.paused, .suspended].contains(state))
            #expect(actions.contains(.cancel) == (!state.isEnd && state != .failing))
        }
        #expect(ChainAction.allCases.filter(\.isDestructive) == [.cancel])
        #expect(ChainAction.allCases.map(\.title) == ["Pause", "Resume", "Retry", "Cancel"])
    }

    @Test("Beyond a page of 100 the viewer offers more, and a viewer without chains says so")
    func pages() async throws {
        let client = client()
        let viewer = ChainsModel(client)
        for _ in 0..<101 { try await client.chains.start(photos, input: []) }
        await viewer.refresh()
        #expect(viewer.rows.count == 100 && viewer.hasMore)
        viewer.filter = .ended
        #expect(viewer.placeholder == "None of the newest 100 chains is ended")
        viewer.filter = .all
        await viewer.loadMore()
        #expect(viewer.rows.count == 101 && !viewer.hasMore)
        await client.close()
        let without = ChainsModel(self.client { $0.chains = nil })
        await without.refresh()
        #expect(without.fault?.code == .badConfiguration)
        #expect(without.placeholder?.contains("chains is not configured") == true)
    }

    @Test("A read that began before the next page was asked for hides nothing of it")
    func overlappingReads() async throws {
        let client = client()
        for _ in 0..<102 { try await client.chains.start(photos, input: []) }
        for pauses in 0..<20 {
            let viewer = ChainsModel(client)
            await viewer.refresh()
            let reading = Task {
                await viewer.refresh()
                return viewer.rows.count
            }
            for _ in 0..<pauses { await Task.yield() }
            await viewer.loadMore()
            #expect(await reading.value != 101, "after \(pauses) pauses")
            #expect(viewer.rows.count == 102 && !viewer.hasMore, "after \(pauses) pauses")
        }
        await client.close()
    }

    @Test("A list that could not be read is shown once it can be, and its fault is gone")
    func mended() async throws {
        let home = folder.appending("home")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        let owner = try OwnerLock(
            at: home.appendingPathComponent("owner.lock").path, takeOver: false)
        let client = client()
        let viewer = ChainsModel(client)
        await viewer.refresh()
        #expect(viewer.fault?.code == .journalOwned)
        owner.release()
        await viewer.refresh()
        #expect(viewer.fault == nil && viewer.placeholder == "No chain was started")
        await client.close()
    }

    @Test("A person need not wait for the next dial")
    func reconnect() async throws {
        let device = ManualDevice()
        device.now.network = false
        let client = client { configuration in
            configuration.dialer = device.dialer(over: server)
            configuration.channels.reconnect = Backoff(
                base: .seconds(3_600), longest: .seconds(3_600))
        }
        let running = Task { try await client.run() }
        for await state in client.connectionStates { if case .waiting = state { break } }
        device.now.network = true
        let debug = DebugModel(client)
        await debug.reconnect()
        try await eventually("it is connected") { client.model.isConnected }
        #expect(debug.fault == nil)
        running.cancel()
        try await running.value
        await client.close()
    }

    private func rows(_ debug: DebugModel, _ section: String) -> [DebugSection.Row] {
        debug.sections.first { $0.id == section }?.rows ?? []
    }

    private func value(_ debug: DebugModel, _ section: String, _ title: String) -> String? {
        rows(debug, section).first { $0.title == title }?.value
    }

    @Test("The debug screen shows client, connection, coverage, outbox and ledger, never a body")
    func debug() async throws {
        let client = client()
        let debug = DebugModel(client, timeZone: .gmt)
        await debug.refresh()
        #expect(debug.sections.map(\.id) == ["Client", "Connection"])
        #expect(value(debug, "Client", "Journal") == "not needed yet")
        let general = client.channel("general", of: String.self)
        try await general.consume(as: "inbox") { _ in }
        for number in 1...3 { try server.publish("\"secret \(number)\"", to: "general") }
        let running = Task { try await client.run() }
        try await general.publish("secret of mine")
        try await eventually("everything is there") {
            await debug.refresh()
            return value(debug, "Coverage", "general") == "live"
                && value(debug, "Ledger", "Applied") == "5"
                && value(debug, "Outbox", "Waiting") == "0"
        }
        #expect(
            debug.sections.map(\.id) == ["Client", "Connection", "Coverage", "Outbox", "Ledger"])
        #expect(value(debug, "Client", "User") == "nobody")
        #expect(value(debug, "Connection", "State") == "connected")
        #expect(value(debug, "Connection", "Connected")?.hasPrefix("for ") == true)
        #expect(value(debug, "Connection", "Reconnects") == "0")
        let channel = try #require(rows(debug, "Coverage").first)
        #expect(channel.tone == .good)
        #expect(channel.detail == "has 1–4 of 4 · 4 received")
        #expect(value(debug, "Ledger", "Accepted") == "5")
        #expect(value(debug, "Ledger", "Pending") == "0")
        #expect(value(debug, "Ledger", "Adds up") == "yes")
        #expect(!"\(debug.sections)".contains("secret"))
        running.cancel()
        try await running.value
        await client.close()
        await debug.refresh()
        #expect(value(debug, "Client", "Journal") == "closed")
    }

    @Test("A configuration that cannot work is on the debug screen with the line to write")
    func fault() async throws {
        let debug = DebugModel(RepriseClient(RepriseConfiguration()))
        await debug.refresh()
        let row = try #require(rows(debug, "Client").first)
        #expect(row.tone == .bad && row.detail?.contains("configuration.server = ") == true)
    }

    @Test("A dead letter is listed, sent again and withdrawn from the debug screen")
    func letters() async throws {
        let client = client()
        let general = client.channel("general", of: String.self)
        // An edit of a message that the server never had.
        let id = try await general.edit(.random(), "secret")
        let running = Task { try await client.run() }
        let debug = DebugModel(client)
        try await eventually("it is dead") {
            await debug.refresh()
            return rows(debug, "Outbox").contains { $0.letter == id }
        }
        let row = try #require(rows(debug, "Outbox").last)
        #expect(row.title == "general" && row.value == "noSuchMessage" && row.tone == .bad)
        #expect(row.detail?.hasPrefix("There is no such message.") == true)
        #expect(!"\(debug.sections)".contains("secret"))
        await debug.withdraw(id)
        #expect(debug.fault == nil && !rows(debug, "Outbox").contains { $0.letter == id })
        await debug.resend(id)
        await debug.refresh()
        #expect(debug.fault != nil, "it stays over reads")
        await debug.reconnect()
        #expect(debug.fault == nil)
        running.cancel()
        try await running.value
        await client.close()
    }
}
