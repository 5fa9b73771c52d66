import Foundation
import RepriseTestSupport
import RepriseTesting
import RepriseUI
import Testing

@Suite("Decisions of scenes and views")
struct SceneDecisionTests {
    private let one = UUID()
    private let two = UUID()

    /// A call that changes what it is made on cannot stand in `#expect`.
    private func expect<Value: Equatable>(
        _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) { #expect(value == expected, sourceLocation: sourceLocation) }

    @Test("The app can present while a scene is active, or inactive after it was active")
    func presence() {
        var presence = ScenePresence()
        func seen(_ scene: UUID, _ phase: ScenePresence.Phase, _ canPresent: Bool = true) -> Bool {
            presence.sceneChanged(scene, phase, canPresent: canPresent)
            return presence.canPresent
        }
        #expect(!presence.canPresent)
        // A launch goes through inactive, with no screen yet.
        #expect(!seen(one, .inactive))
        #expect(seen(one, .active))
        // The notification centre is over it.
        #expect(seen(one, .inactive))
        #expect(!seen(one, .background))
        #expect(!seen(one, .inactive))
        // A second window.
        #expect(seen(two, .active))
        // Its onboarding.
        #expect(!seen(two, .active, false))
        #expect(seen(one, .active))
        presence.sceneClosed(one)
        #expect(!presence.canPresent)
        #expect(seen(two, .active, true))
        presence.sceneClosed(two)
        #expect(!presence.canPresent)
    }

    @Test("A channel is visible from its first view to its last, and is told once")
    func visible() {
        var visibility = ChannelVisibility()
        expect(visibility.takeWork(), nil)
        visibility.viewShown(one, marksRead: true)
        expect(visibility.takeWork(), .init(isVisible: true))
        expect(visibility.takeWork(), nil)
        visibility.viewShown(two, marksRead: true)
        visibility.viewHidden(one)
        expect(visibility.takeWork(), nil)
        visibility.viewHidden(two)
        visibility.viewHidden(two)
        expect(visibility.takeWork(), .init(isVisible: false))
        // A view that goes and comes back before anything was said.
        visibility.viewShown(one, marksRead: true)
        visibility.viewHidden(one)
        expect(visibility.takeWork(), nil)
    }

    @Test("Messages that a visible view lists are read, and each sequence is reported once")
    func read() {
        var visibility = ChannelVisibility()
        visibility.listChanged(newest: 7)
        expect(visibility.takeWork(), nil)
        visibility.viewShown(one, marksRead: false)
        expect(visibility.takeWork(), .init(isVisible: true))
        visibility.viewShown(two, marksRead: true)
        expect(visibility.takeWork(), .init(read: 7))
        visibility.listChanged(newest: 7)
        expect(visibility.takeWork(), nil)
        visibility.listChanged(newest: 9)
        expect(visibility.takeWork(), .init(read: 9))
        // The server's log has begun again.
        visibility.listChanged(newest: nil)
        expect(visibility.takeWork(), nil)
        visibility.listChanged(newest: 2)
        expect(visibility.takeWork(), .init(read: 2))
        // Another account knows nothing of it.
        visibility.accountChanged()
        expect(visibility.takeWork(), .init(isVisible: true, read: 2))
        // Nor did it, perhaps, when that was said: its own list comes now, with the same messages.
        visibility.listChanged(newest: 2)
        expect(visibility.takeWork(), .init(read: 2))
        visibility.listChanged(newest: 2)
        expect(visibility.takeWork(), nil)
    }

    @Test("An opening that view and delegate report is one; the same link opened again is another")
    func links() throws {
        let url = try #require(URL(string: "courier://goal/1"))
        for (first, second) in [(OpenedLinks.Route.view, OpenedLinks.Route.delegate)]
            + [(.delegate, .view)]
        {
            var links = OpenedLinks()
            expect(links.opened(url, by: first, at: .zero), true)
            expect(links.opened(url, by: second, at: .seconds(1)), false)
            // Again, in the other order.
            expect(links.opened(url, by: second, at: .seconds(2)), true)
            expect(links.opened(url, by: first, at: .seconds(2)), false)
            // Twice by one: two openings.
            expect(links.opened(url, by: first, at: .seconds(3)), true)
            expect(links.opened(url, by: first, at: .seconds(4)), true)
            expect(links.opened(url, by: second, at: .seconds(4)), false)
            expect(links.opened(url, by: second, at: .seconds(4)), false)
            // One that only the other reports, later.
            expect(links.opened(url, by: first, at: .seconds(10)), true)
            expect(links.opened(url, by: second, at: .seconds(16)), true)
        }
    }

    @Test("At most 16 links wait for a second report")
    func manyLinks() throws {
        var links = OpenedLinks()
        let urls = try (0...OpenedLinks.most).map {
            try #require(URL(string: "courier://goal/\($0)"))
        }
        for url in urls { expect(links.opened(url, by: .view, at: .zero), true) }
        // The oldest was forgotten, the newest was not.
        expect(links.opened(urls[0], by: .delegate, at: .zero), true)
        expect(links.opened(urls[OpenedLinks.most], by: .delegate, at: .zero), false)
    }
}

@MainActor @Suite("Scenes of a client", .timeLimit(.minutes(1)))
struct SceneModelTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("Entries that need a screen are dispatched while a scene can present, in every account")
    func ready() async throws {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = MemoryServer()
        configuration.kinds = [EntryKind("screen", requires: [.ui])]
        let client = RepriseClient(configuration)
        let scenes = SceneModel.of(client)
        #expect(SceneModel.of(client) === scenes)
        let scene = UUID()
        scenes.sceneChanged(scene, .active, canPresent: false)
        #expect(client.state == .idle, "a scene opens no journal")
        let shown = Seen<EntryID>()
        for user in ["ada", "bob"] {
            try await client.signIn(user, tokens: nil)
            let journal = try await client.journal
            await journal.handle("screen") { entry in shown.add(entry.id) }
            let id = EntryID.random()
            try await journal.record(NewEntry(id: id, kind: "screen", payload: []))
            if user == "ada" {
                #expect(try await journal.entry(id)?.state == .pending)
                scenes.sceneChanged(scene, .active, canPresent: true)
            }
            try await eventually("it is dispatched to \(user)") { shown.all.contains(id) }
        }
        scenes.sceneChanged(scene, .background, canPresent: true)
        let journal = try await client.journal
        try await eventually("it waits again") { !journal.isOpen(.ui) }
        await client.close()
    }
}
