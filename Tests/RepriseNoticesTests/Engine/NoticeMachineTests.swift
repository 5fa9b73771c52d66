import RepriseCore
import RepriseNotices
import RepriseWire
import Testing

@Suite("Notice machine") struct NoticeMachineTests {
    enum Happening: String, CaseIterable, Sendable {
        case push, socket, record, read
    }

    /// The system, the person and the journal around one message.
    struct World {
        static let channel: ChannelName = {
            guard let name = try? ChannelName("c") else { preconditionFailure("a good name") }
            return name
        }()

        var machine: NoticeMachine?
        /// What stands: nil nothing, else whether it is a push.
        var stands: Bool?
        var isRead = false
        var added = 0
        var addedAfterRead = 0
        var alerts = 0
        var secondAlerts = 0

        mutating func take(_ event: NoticeMachine.Event) {
            let step = NoticeMachine.take(event, &machine)
            if step.isSecondAlert { secondAlerts += 1 }
            if step.removes { stands = nil }
            guard step.shows else { return }
            // Another under the same name would be shown in its place, with its own sound.
            if stands == nil { alerts += 1 }
            stands = false
            added += 1
            if isRead { addedAfterRead += 1 }
            take(.taken)
        }

        /// The door looks at the channel.
        mutating func look(_ way: NoticeMachine.Way?) {
            if let isRemote = stands { take(.found(isRemote: isRemote)) }
            if let way { take(.stored(decision, way)) }
            if isRead { take(.ended("read")) }
        }

        var decision: NoticeDecision { decision(shown: NoticeMachine.shown(machine)) }

        /// As after a death, when nobody knows what was shown.
        var decisionAgain: NoticeDecision { decision(shown: .never) }

        private func decision(shown: NoticeState.Shown) -> NoticeDecision {
            var state = NoticeState(
                me: nil, settings: NotificationSettings(authorization: .authorized),
                now: WallTime(milliseconds: 10))
            state.read = isRead ? 1 : 0
            state.shown = shown
            let notice = Notice(
                id: EntryID(unchecked: "m"), channel: Self.channel, seq: 1,
                sender: nil, published: WallTime(milliseconds: 1), source: .live)
            return .decide(notice, in: state)
        }

        mutating func happens(_ happening: Happening) {
            switch happening {
            case .push:
                // The system shows it, and nobody of ours hears of it.
                stands = true
                alerts += 1
            case .record: take(.extensionShowed([.banner, .list], reason: "new"))
            case .socket: look(.live)
            case .read:
                isRead = true
                look(nil)
            }
        }
    }

    static func orders(_ rest: [Happening]) -> [[Happening]] {
        guard !rest.isEmpty else { return [[]] }
        return rest.indices.flatMap { index -> [[Happening]] in
            var others = rest
            let first = others.remove(at: index)
            return orders(others).map { [first] + $0 }
        }
    }

    @Test(
        "In every order of push, socket, record and reading elsewhere no notification is left, and no read message is shown",
        arguments: orders(Happening.allCases))
    func read(order: [Happening]) {
        var world = World()
        for happening in order { world.happens(happening) }
        world.look(nil)
        #expect(world.stands == nil)
        #expect(world.addedAfterRead == 0)
        #expect(world.added <= 1)
    }

    @Test(
        "Unread, one notification stands in every order, and an alert beyond the first is counted",
        arguments: orders([.push, .socket, .record]) + orders([.push, .socket])
            + orders([.push, .record]) + [[.push], [.socket]])
    func unread(order: [Happening]) {
        var world = World()
        for happening in order { world.happens(happening) }
        world.look(nil)
        #expect(world.stands != nil)
        #expect(world.machine?.standing == .standing)
        #expect(world.secondAlerts == world.alerts - 1)
        #expect(world.added <= 1)
    }

    @Test(
        "After a process died while it added a notification, a shown one is left, and a missing one is shown again"
    )
    func lost() {
        var world = World()
        world.machine = NoticeMachine(
            standing: .asked, way: .live, reason: "new", presentation: [.banner, .list])
        var there = world
        there.stands = false
        there.look(nil)
        #expect(there.added == 0)
        #expect(there.machine?.standing == .standing)
        world.take(.lost(world.decisionAgain))
        #expect(world.added == 1)
        #expect(world.machine?.unconfirmed == 1)
    }

    @Test("A process that died while it asked, and the person has read it: nothing is shown")
    func lostAndRead() {
        var world = World()
        world.machine = NoticeMachine(
            standing: .asked, way: .live, reason: "new", presentation: [.banner, .list])
        world.isRead = true
        world.take(.lost(world.decisionAgain))
        #expect(world.added == 0)
        #expect(world.machine?.standing == .gone)
    }

    @Test("A tapped message is not shown again by a later push")
    func touched() {
        var world = World()
        world.happens(.socket)
        world.take(.touched("open"))
        world.stands = nil
        world.happens(.push)
        world.look(nil)
        #expect(world.stands == nil)
        #expect(world.secondAlerts == 1)
    }

    @Test("An extension's record behind the list that has what it showed tells how it came")
    func recordedAfterFound() {
        var world = World()
        world.happens(.push)
        world.look(nil)
        world.happens(.record)
        #expect(world.machine?.way == .extension && world.machine?.reason == "new")
        #expect(world.machine?.alerts == 1 && world.secondAlerts == 0)
    }

    @Test("An extension's record behind the tap on what it has shown is no second alert")
    func recordBehindTap() {
        var world = World()
        world.happens(.push)
        world.stands = nil
        world.take(.touched("open"))
        world.happens(.record)
        world.happens(.socket)
        #expect(world.stands == nil && world.added == 0)
        #expect(world.machine?.standing == .gone && world.machine?.alerts == 1)
        #expect(world.secondAlerts == 0)
    }
}
