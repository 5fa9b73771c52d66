import Foundation
import RepriseApple
import RepriseTestSupport
import RepriseTesting
import RepriseUI
import Testing

@Suite("Decisions of the app's delegate")
struct LaunchDecisionTests {
    @Test("A launch that did not reach the delegate is reported once, with the line to write")
    func launch() {
        var audit = DelegateAudit()
        let finding = audit.launchEnded()
        #expect(finding == .launchNotForwarded)
        #expect(finding?.error.remedy?.contains("super.application(application, did") == true)
        let again = audit.launchEnded()
        #expect(again == nil)
        var good = DelegateAudit()
        good.launched()
        let none = good.launchEnded()
        #expect(none == nil)
    }

    @Test("Each foreign delegate of the notification centre is named once")
    func notifications() {
        var audit = DelegateAudit()
        let findings = [
            (true, "Ours"), (false, "FIRMessaging"), (false, "FIRMessaging"), (false, nil),
        ]
        .map { isOurs, name in audit.notificationDelegate(isOurs: isOurs, name: name) }
        #expect(
            findings
                == [
                    nil, .notificationsTaken(by: "FIRMessaging"), nil, .notificationsTaken(by: nil),
                ])
        #expect(findings[3]?.error.message.contains("is gone") == true)
    }

    @Test("A token that never came is reported, a refusal is an answer")
    func token() {
        var audit = DelegateAudit()
        var findings = [audit.tokenTimerFired()]
        audit.tokenRequested()
        audit.tokenAnswered()
        findings.append(audit.tokenTimerFired())
        audit.tokenRequested()
        findings.append(audit.tokenTimerFired())
        #expect(findings == [nil, nil, .tokenNotForwarded])
    }

    @Test("A background task is registered once, before the launch has ended, and if permitted")
    func tasks() throws {
        var tasks = BackgroundRegistrations()
        let permitted = ["reprise.chains", "app.export.*"]
        try tasks.register("reprise.chains", permitted: permitted)
        try tasks.register("app.export.7", permitted: permitted)
        for (id, remedy) in [
            ("reprise.chains", "remove your own call"), ("app.refresh", "Permitted"),
            ("app.exporter", "Permitted"),
        ] {
            let error = #expect(throws: RepriseError.self) {
                try tasks.register(id, permitted: permitted)
            }
            #expect(error?.code == .badConfiguration)
            #expect(error?.remedy?.contains(remedy) == true, "\(id)")
        }
        tasks.launched()
        let late = #expect(throws: RepriseError.self) {
            try tasks.register("app.export.8", permitted: permitted)
        }
        #expect(late?.remedy?.contains("didFinishLaunching") == true)
    }

    @Test(
        "Background time is what the system says, and at most 25 s", .limit("apple.background"),
        arguments: [
            (Double.greatestFiniteMagnitude, 25), (.infinity, 25), (600, 25), (15, 15), (0, 0),
            (-1, 0),
        ])
    func background(remaining: Double, seconds: Int) {
        #expect(BackgroundTime.granted(remaining: remaining) == .seconds(seconds))
        #expect(BackgroundTime.granted(remaining: .nan) == BackgroundTime.most)
    }

    @Test("The system's handler waits for the end of the events, which may have come before it")
    func transfers() {
        var events = TransferEvents()
        // The usual order: it waits.
        var isOver = [events.handlerArrived()]
        events.eventArrived()
        events.eventsEnded()
        // Told while the app was launched, before its delegate was called.
        isOver.append(events.handlerArrived())
        // That end was for one handler.
        isOver.append(events.handlerArrived())
        // An end that was followed by another event is not the end.
        events.eventsEnded()
        events.eventArrived()
        isOver.append(events.handlerArrived())
        #expect(isOver == [false, true, false, false])
    }
}

@Suite("Links and background time of a client", .timeLimit(.minutes(1)))
struct ClientLaunchTests {
    private struct Echo: Worker {
        static let identifier = "echo"
        func run(_ input: Int, _ work: WorkContext) async throws -> Int { input }
    }

    private let folder: TemporaryFolder
    private let echo = Chain<Int>("echo") { number in Work("echo", Echo.self) { _ in number } }

    init() throws { folder = try TemporaryFolder() }

    private func configuration(_ configure: (inout RepriseConfiguration) -> Void)
        -> RepriseConfiguration
    {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = MemoryServer()
        configuration.connectsAnonymously = true
        configure(&configuration)
        return configuration
    }

    private func withReminders() -> RepriseConfiguration {
        configuration { configuration in
            configuration.reminders = Reminders.Configuration(store: MemoryReminderStore())
            configuration.reminders?.refreshTask = "app.refresh"
            configuration.notifications = MemoryNotifications(clock: ManualClock()).connect()
        }
    }

    @Test("A link is durable at once, and delivered once by a later launch")
    func link() async throws {
        let url = try #require(URL(string: "courier://goal/42/comment"))
        let foreign = try #require(URL(string: "courier://sign-in?code=1"))
        let web = try #require(URL(string: "https://goal/42"))
        do {
            // Never run: the process ends after the call.
            let client = RepriseClient(withReminders())
            #expect(try client.open(url))
            #expect(try !client.open(foreign) && !client.open(web))
            await client.close()
        }
        let client = RepriseClient(withReminders())
        let running = Task { try await client.run() }
        try await client.journal.setReady(.ui)
        let seen = Seen<RoutedTap>()
        let reading = Task {
            for await tap in try await client.reminders.routes {
                seen.add(tap)
                try await tap.presented()
            }
        }
        try await eventually("it is delivered") { seen.count == 1 }
        #expect(seen.all.first?.route?.id == "42" && seen.all.first?.route?.part == "comment")
        #expect(seen.all.first?.source == .link)
        // Only it was recorded.
        #expect(try await client.ledger().accepted == 1)
        reading.cancel()
        running.cancel()
        try await running.value
        await client.close()
    }

    @Test("Without reminders no link is Reprise's")
    func noReminders() throws {
        let url = try #require(URL(string: "courier://goal/42"))
        let configuration = configuration { _ in }
        #expect(try !RepriseClient(configuration).open(url))
        #expect(RepriseClient(configuration).backgroundTasks.isEmpty)
    }

    @Test("A slot goes to the feature that has asked for it; one that nobody has is given back")
    func slots() async throws {
        let configuration = configuration { configuration in
            configuration.chains = Chains.Configuration()
            configuration.chains?.workers = [Echo()]
            configuration.chains?.chains = [echo]
        }
        let client = RepriseClient(configuration)
        #expect(client.backgroundTasks == ["reprise.chains"])
        let id = try await client.chains.start(echo, input: 3)
        let running = Task { try await client.run() }
        let slot = MemorySlot("reprise.chains")
        await client.use(slot)
        #expect(slot.completed == [true])
        #expect(try await client.chains.status(id)?.state == .succeeded)
        let unknown = MemorySlot("app.other")
        await client.use(unknown)
        #expect(unknown.completed == [false])
        running.cancel()
        try await running.value
        await client.close()
        #expect(RepriseClient(withReminders()).backgroundTasks == ["app.refresh"])
    }

    @Test("A slot is given back when the journal cannot be opened")
    func noJournal() async throws {
        var configuration = RepriseConfiguration()
        configuration.chains = Chains.Configuration()
        let slot = MemorySlot("reprise.chains")
        await RepriseClient(configuration).use(slot)
        #expect(slot.completed == [false])
    }
}
