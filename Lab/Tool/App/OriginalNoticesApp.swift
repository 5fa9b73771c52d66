import ArgumentParser
import Foundation
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseNotices
import ReprisePhone
import RepriseWire

/// `reprise-lab app notices-seed`: the original app of `case-badge-banner`, and an idle one to
/// switch to.
struct OriginalNoticesCommand: AsyncParsableCommand {
    static let configuration = AppHelp.of(
        "notices-seed", "The original app of case-badge-banner; idle without a server.")

    @Option(help: .appServer) var server: String?
    @Option(help: .appUser) var user = ""
    @Option(help: .appToken) var token = ""
    @Option(help: .appChannel) var channel: [String] = []
    @Option(help: .dieAfterChanges) var dieAfterChanges: Int?

    func run() async throws {
        let phone = try await PhoneApp.connect()
        await phone.report("process")
        guard let server else {
            return await phone.run(
                life: OriginalNoticesApp.life(phone), notifications: OriginalTaps())
        }
        try await OriginalNoticesApp(
            phone: phone, user: try UserID(user),
            caller: NoticesCaller(server: server, token: try AccessToken(token)),
            channels: channel,
            notifications: dieAfterChanges.map {
                DyingNotifications(phone.notifications, after: $0)
            } ?? phone.notifications
        ).run()
    }
}

/// The original app of `case-badge-banner`: a socket while it runs, a local notification for each
/// message, and nothing when it does not run.
///
/// Each branch names the line of the document. Where the document leaves something open, this
/// favours the original: its socket, its database and its catch-up are those of Reprise, so that no
/// message is lost or duplicated; a banner has the message's id and carries the badge; the badge is
/// read from the server at each opening; an opened conversation is read to its end, also at the
/// server; in the background it runs for as long as the system lets it.
actor OriginalNoticesApp {
    private let phone: PhoneApp
    private let user: UserID
    private let caller: NoticesCaller
    private let channels: [String]
    private let notifications: any UserNotifications
    /// Earlier messages are caught up.
    private let started = SystemTimekeeper().wall()
    /// Its own unread messages.
    private var unread: [String: Set<Int64>] = [:]
    /// The server's counts at the last opening, without known sequences.
    private var counted: [String: (count: Int64, head: Int64)] = [:]

    init(
        phone: PhoneApp, user: UserID, caller: NoticesCaller, channels: [String],
        notifications: any UserNotifications
    ) {
        (self.phone, self.user, self.caller) = (phone, user, caller)
        (self.channels, self.notifications) = (channels, notifications)
    }

    /// "Background … WebSocket: Still connected (for ~30 seconds)" (app states, 2).
    static func life(
        _ phone: PhoneApp, opened: @escaping @Sendable () async -> Void = {}
    ) -> OriginalLife {
        OriginalLife(
            stays: { try? await phone.timekeeper.sleep(for: $0 - .seconds(1)) }, opened: opened)
    }

    func run() async throws {
        let (phone, token) = (phone, caller.token)
        let reprise = try await AccountClient.open(
            at: phone.folder, server: caller.server, dialer: phone.dialer(over: NIODialer()),
            identity: Identity(user: user) { _ in token })
        await phone.report("journal")
        // "Banner appears immediately" in the foreground (test 1).
        let taps = OriginalTaps(presents: [.banner, .list, .sound, .badge]) { [self] in
            await tapped($0)
        }
        if let response = phone.launch.response { await tapped(response) }
        // "Catch-up delivers message … Badge updates when app opens" (test 4).
        await opened()
        for channel in channels {
            try await reprise.channel(channel).read("seed") { [self] in try await came($0) }
        }
        // "Typing indicators, read receipts" (WebSocket real-time delivery).
        let signs = LiveSigns(phone: phone, reprise: reprise, channels: channels)
        let life = OriginalNoticesApp.life(phone) { [self] in await opened() }
        try await untilOneEnds(
            { try await reprise.run() }, { try await signs.report() },
            { await phone.run(life: life, notifications: taps) })
    }

    // MARK: Messages

    /// "WebSocket delivers message → Trigger local notification → Banner appears!" (current
    /// implementation).
    private func came(_ message: RepriseChannels.Message) async throws {
        await phone.report("stored", message.id.text)
        guard message.from != user, message.change == nil else { return }
        let channel = message.channel.text
        if message.seq > counted[channel]?.head ?? 0 {
            unread[channel, default: []].insert(message.seq)
        }
        // "Catch-up delivers missed messages" (what happens if force-quit): no banner is spoken of.
        guard message.time >= started else { return try await showBadge() }
        let text = PushContent(message.body)
        var content = NotificationContent(
            title: text?.title ?? message.from?.text ?? channel,
            body: text?.body ?? "")
        content.thread = channel
        content.sound = true
        content.badge = badge
        content.info = Array(#"{"conversation":"\#(channel)"}"#.utf8)
        try? await notifications.add(NotificationRequest(id: message.id.text, content: content))
        try await showBadge()
    }

    /// "Tap to open conversation", and "Clears when messages are read".
    private func tapped(_ response: NotificationResponse) async {
        let info = Data(response.notification.request.content.info)
        let payload = try? JSONDecoder().decode([String: String].self, from: info)
        let channel = payload?["conversation"] ?? response.notification.request.content.thread
        await phone.report("route", channel)
        unread[channel] = nil
        counted[channel] = nil
        if let head = try? await positions(channel)?.integer("head") {
            try? await caller.read(channel, through: head)
            counted[channel] = (0, head)
        }
        try? await showBadge()
    }

    // MARK: Badge

    private var badge: Int {
        unread.values.reduce(0) { $0 + $1.count }
            + counted.values.reduce(0) { $0 + Int($1.count) }
    }

    /// "Updates in real-time", "Shows total unread messages".
    private func showBadge() async throws { try? await notifications.setBadge(badge) }

    private func opened() async {
        for channel in channels {
            guard let answer = try? await positions(channel) else { continue }
            let head = answer.integer("head") ?? 0
            counted[channel] = (answer.integer("unread") ?? 0, head)
            unread[channel] = unread[channel]?.filter { $0 > head }
        }
        try? await showBadge()
    }

    private func positions(_ channel: String) async throws -> HTTPMembers? {
        try await caller.send("GET", ["channels", channel, "positions"])
    }
}
