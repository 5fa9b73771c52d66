import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseJournal
import RepriseNIO
import RepriseNotices
import ReprisePhone
import RepriseSimulator
import RepriseTesting
import RepriseWire

extension Step<NoticesSession> {
    // MARK: The app

    static var open: Step { Step { try await $0.open() } }
    static var switchToAnotherApp: Step {
        Step { session in
            try await session.phone.install(
                PhoneAppSpec(
                    id: "other", executable: session.app.spec.executable,
                    arguments: ["app", "notices-seed"]))
            try await session.phone.launch("other")
            try await session.expect(.background)
        }
    }
    static func permit(_ permission: NotificationSettings.Authorization) -> Step {
        Step { try await $0.phone.permit(permission, app: $0.id) }
    }

    // MARK: People

    /// Ada writes a message.
    static func write(
        _ name: String, _ due: NoticesNotes.Message.Due = .banner, in conversation: Int = 0
    ) -> Step {
        Step { try await $0.write(name, due, in: conversation) }
    }
    /// Ada begins a conversation with the person, and writes.
    static func begins(_ name: String) -> Step { Step { try await $0.begin(name) } }
    /// Ada begins one with everybody, at her terminal, and writes there.
    static func beginsAtTerminal(_ name: String) -> Step {
        Step { try await $0.beginAtTerminal(name) }
    }
    /// The person answers in the app.
    static func answer(_ name: String) -> Step { Step { try await $0.answer(name) } }
    /// The terminal has the answer.
    static func answerArrives(_ name: String) -> Step { Step { try await $0.answerArrives(name) } }
    /// The same on the other persons' phones.
    static func onOthers(_ steps: Step...) -> Step {
        Step("on another phone") { session in
            for other in session.others {
                try await forEach(steps) { [$0] }.perform(other)
            }
        }
    }
    /// The same while her conversation is on the screen: the case study's own test deliberately has
    /// a banner over it.
    static func writeOnScreen(_ name: String) -> Step {
        Step { try await $0.write(name, $0.isReprise ? .quiet : .any) }
    }
    static func tap(_ name: String) -> Step { Step { try await $0.tap(name) } }
    static var readElsewhere: Step { Step { try await $0.readElsewhere() } }
    /// The person sets quiet hours on another device.
    static func quietHours(from start: String, to end: String, in zone: String) -> Step {
        Step { try await $0.setQuietHours(from: start, to: end, in: zone) }
    }
    /// Quiet hours over midnight that hold now, in a zone in which it is midnight, at the server
    /// too.
    static var quietHoursNow: Step {
        Step { session in
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = .gmt
            let hour = calendar.component(.hour, from: Date())
            // Names of such zones have the sign of the other direction.
            let zone = hour == 0 ? "UTC" : hour < 12 ? "Etc/GMT+\(hour)" : "Etc/GMT-\(24 - hour)"
            try await session.setQuietHours(from: "22:00", to: "02:00", in: zone)
        }
    }

    /// Ada types, with an app of her own, and removes it; the person sees both.
    static var adaTypes: Step {
        Step { session in
            let token = session.sender.token
            let ada = try await AccountClient.open(
                at: session.phone.folder.url.appendingPathComponent("ada-\(session.id)"),
                server: await session.fixture.server.url, dialer: NIODialer(),
                identity: Identity(user: try UserID("ada")) { _ in token })
            let running = Task { try await ada.run() }
            defer { running.cancel() }
            let team = session.channels[0]
            let conversation = try ada.channel(team)
            try await conversation.subscribe()
            for await state in conversation.states where state == .live { break }
            conversation.typing()
            try await session.checkSign("typing", "\(team) ada", or: "no typing")
            conversation.stopTyping()
            try await session.checkSign("typing", "\(team) nobody", or: "types for ever")
            running.cancel()
            await ada.close()
        }
    }
    /// Ada has read all that there is; the person sees it.
    static var adaReads: Step {
        Step { session in
            let team = session.channels[0]
            let seq = session.newest(in: team)
            try await session.sender.read(team, through: seq)
            try await session.checkSign("receipt", "\(team) ada \(seq)", or: "no receipt")
        }
    }
    /// Ada sees that the person has read a message.
    static func isKnownAsRead(_ name: String) -> Step {
        Step { session in
            guard let message = session.written(name) else { return }
            let isKnown = try await Waiting.isTrue(within: session.timeout) {
                let answer = try await session.sender.send(
                    "GET", ["channels", message.channel, "deliveries", "\(message.seq)"])
                let members = try answer?.list("members").map { try HTTPMembers($0) } ?? []
                return members.contains {
                    $0.text("user") == session.person && $0.text("state") == "read"
                }
            }
            if !isKnown { session.miss("not read") }
        }
    }

    // MARK: Pushes and the server

    /// A push of a message that has been under way: Apple brings it late, whatever the device has
    /// by now.
    static func latePush(_ name: String) -> Step {
        Step { session in
            guard let message = session.written(name) else { return }
            var hint = PushHint(
                kind: .alert, channel: try ChannelName(message.channel), seq: message.seq,
                head: message.seq)
            hint.id = try EntryID(message.id)
            hint.from = try UserID("ada")
            hint.time = SystemTimekeeper().wall()
            let standing = try await session.elsewhere.standing(in: message.channel)
            hint.badge = PushHint.Badge(
                count: standing.unread, asOf: hint.time ?? WallTime(milliseconds: 0))
            let alert =
                #""alert":{"title":"The \#(message.channel)","subtitle":"ada","#
                + #""body":"Message \#(name)"}"#
            let member = String(decoding: hint.json, as: UTF8.self)
            let delivered = try await session.count("delivered")
            try await session.phone.push(
                """
                {"aps":{\(alert),"badge":\(standing.unread),"sound":"default",\
                "mutable-content":1},"reprise":\(member)}
                """,
                headers: ["apns-push-type": "alert", "apns-collapse-id": message.id],
                app: session.id)
            try await Waiting.isTrue(within: session.timeout) {
                let log = try await session.log()
                return log.count { $0.what == "delivered" } > delivered
                    || log.last { $0.what == "push" || $0.what == "notPresented" }?.what
                        == "notPresented"
            }
        }
    }
    /// Five messages, each by socket and by push at once.
    static var atOnce: Step {
        .forEach(1...5) { [.write("m\($0)"), .latePush("m\($0)")] }
    }
    /// SIGKILL to the server, which is started again with the same data.
    static var killServer: Step {
        Step { session in
            await session.fixture.server.kill()
            try await session.fixture.server.start()
        }
    }
    static func providerIsDown(_ isDown: Bool) -> Step { Step { $0.fixture.apple.setDown(isDown) } }
    static func wait(_ time: Duration) -> Step { Step { _ in try await Task.sleep(for: time) } }

    // MARK: Effects

    /// A person has seen banners of these.
    static func seen(_ names: [String], within limit: Duration? = nil) -> Step {
        Step { try await $0.has("banner", of: names, within: limit) }
    }
    static func seen(_ names: String...) -> Step { seen(names) }
    /// The app has these.
    static func stored(_ names: [String]) -> Step {
        Step { try await $0.has("app.stored", of: names) }
    }
    static func stored(_ names: String...) -> Step { stored(names) }
    /// The app has a message and has decided whether to show it.
    static func decided(_ name: String) -> Step {
        Step { session in
            try await session.has("app.stored", of: [name])
            let id = session.message(name)
            try await Waiting.isTrue(within: session.timeout) {
                guard let reading = try session.reading(limit: 20) else { return true }
                return reading.decided.contains { $0.id == id }
            }
        }
    }
    /// The app's extension can know that the app has shown a message.
    static func mirrored(_ name: String) -> Step {
        Step { session in
            guard session.isReprise else { return }
            let mirror = Mirror<NoticeMirror>(in: session.folder, version: NoticeMirror.version)
            let id = session.message(name)
            try await Waiting.isTrue(within: session.timeout) {
                try mirror.read()?.value.shown?.contains(id) ?? false
            }
        }
    }
    /// A message is in the list; that it was no banner is checked at the end.
    static func listed(_ name: String) -> Step {
        Step { session in
            try await Waiting.isTrue(within: session.timeout) {
                try await session.isDelivered(name)
            }
        }
    }
    /// No banner of these is delivered any more.
    static func gone(_ names: String...) -> Step {
        Step { session in
            let read = Set(names.map(session.message))
            try await Waiting.isTrue(within: session.timeout) {
                try await session.phone.app(session.id).delivered.allSatisfy {
                    !read.contains($0.request.id)
                }
            }
        }
    }
    /// The server knows that the person has read a message.
    static func isRead(_ name: String) -> Step { Step { try await $0.checkRead(name) } }
    /// The terminal shows what is read and unread as the server has it.
    static var terminalAgrees: Step { Step { try await $0.checkTerminal() } }
    /// The figure at the icon is what is unread by the server.
    static var badge: Step { Step { try await $0.checkBadge() } }

    // MARK: Random steps

    /// Of Ada, of the person on the phone and on two other devices; after each the badge has to be
    /// right.
    static func random(_ count: Int, seed: UInt64) -> Step {
        Step { session in
            var random = SeededRandom(seed: seed)
            try await session.launch()
            try await session.goHome()
            var isHome = true
            for step in 1...count {
                switch Int.random(in: 0..<10, using: &random) {
                case 0...4:
                    // Whether it is a banner is not checked here: it may be on the screen.
                    try await session.write(
                        "m\(step)", .any, in: Int.random(in: 0...1, using: &random))
                case 5, 6: try await session.readElsewhere(Int.random(in: 0...1, using: &random))
                case 7:
                    let shown = try await session.phone.app(session.id).delivered
                    if let first = shown.first {
                        try await session.markRead(NoticesNotes.name(of: first.request.id))
                        isHome = session.isReprise ? isHome : false
                    }
                case 8:
                    if isHome { try await session.open() } else { try await session.goHome() }
                    isHome.toggle()
                default:
                    try await session.kill()
                    try await session.launch()
                    isHome = false
                }
                try await session.checkBadge()
                // One is enough to be said.
                if !session.notes.value.faults.isEmpty { return }
            }
        }
    }
}
