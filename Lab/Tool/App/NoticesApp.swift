import ArgumentParser
import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseNIO
import RepriseNotices
import ReprisePhone

/// `reprise-lab app notices`: an app that shows notifications of messages.
///
/// It reports to the phone's log: `process`; `journal`; `live` with a channel; `stored` with a
/// message's id; `said` with the id of an answer; `pushed`; `willPresent` with the id of a
/// notification and its presentation; `recorded` with a tap's id; `route` with the conversation
/// then on the screen, and the reason; `badge`; the reports of ``LiveSigns``; `registered` when the
/// server has the device's push token.
struct NoticesAppCommand: AsyncParsableCommand {
    static let configuration = AppHelp.of(
        "notices", "An app that shows notifications of messages.", needed: " --server URL")

    @Option(help: .appServer) var server: String
    @Option(help: .appUser) var user: String?
    @Option(help: .appToken) var token: String?
    @Option(help: .appChannel) var channel = ["general"]
    @Option(help: "The device's push token, in hexadecimal digits.") var pushToken: String?
    @Option(help: .dieAfterChanges) var dieAfterChanges: Int?

    func run() async throws {
        let phone = try await PhoneApp.connect()
        await phone.report("process")
        try await NoticesApp(
            phone: phone, server: server, identity: try identity, channels: channel,
            pushToken: pushToken.map(Self.bytes), diesAfterChanges: dieAfterChanges
        ).run()
    }

    private var identity: Identity? {
        get throws {
            guard let user, let token else { return nil }
            let access = try AccessToken(token)
            return Identity(user: try UserID(user)) { _ in access }
        }
    }

    private static func bytes(_ digits: String) -> [UInt8] {
        let letters = Array(digits)
        return stride(from: 0, to: letters.count - 1, by: 2).compactMap {
            UInt8(String(letters[$0...$0 + 1]), radix: 16)
        }
    }
}

/// An app as an engineer writes it with Reprise; beside that it reports what it does to the phone's
/// log.
struct NoticesApp: Sendable {
    let phone: PhoneApp
    let server: String
    let identity: Identity?
    let channels: [String]
    let pushToken: [UInt8]?
    let diesAfterChanges: Int?

    /// The file in which a person's answer comes to the app: channel, id and text.
    static let answers = "answers"

    func run() async throws {
        let reprise = try await AccountClient.open(
            at: phone.folder, server: server, dialer: phone.dialer(over: NIODialer()),
            identity: identity, configuration: configuration)
        await phone.report("journal")
        guard let notices = reprise.notices else { return }
        let handler = ReportingNotices(phone: phone, reprise: reprise)
        // Only recorded here; the wait for its effect runs below.
        if let response = phone.launch.response {
            try await notices.received(response)
            await phone.report("recorded", response.tapID.text)
        }
        try await phone.notifications.setCategories([Self.category])
        if let pushToken { try await notices.registered(pushToken: pushToken) }
        if phone.launch.isForeground { await reprise.setReady(.ui) }
        let screen = NoticesScreen(reprise)
        for channel in channels { try await read(reprise.channel(channel), screen) }
        let system: any UserNotifications =
            diesAfterChanges.map { DyingNotifications(phone.notifications, after: $0) }
            ?? phone.notifications
        let signs = LiveSigns(phone: phone, reprise: reprise, channels: channels)
        let life = ScreenLife(reprise: reprise) { try? await screen.closes() }
        try await untilOneEnds(
            { try await reprise.run() },
            { try await notices.run(notifications: system) },
            { try await follow(notices, screen) },
            { try await follow(reprise, screen) },
            { try await signs.report() },
            { try await answer(reprise) },
            { for await badge in notices.badges { await phone.report("badge", "\(badge.count)") } },
            {
                for await settings in notices.settingsChanges where settings.push == .told {
                    await phone.report("registered")
                }
            },
            { await phone.run(life: life, notifications: handler) })
    }

    private func read(_ channel: Channel, _ screen: NoticesScreen) async throws {
        try await channel.read("log") { [phone] message in
            await phone.report("stored", message.id.text)
            try await screen.came(message)
        }
    }

    /// A conversation that somebody begins appears by itself.
    private func follow(_ reprise: AccountClient, _ screen: NoticesScreen) async throws {
        var known = Set(channels)
        for await list in reprise.channels.observeConversations() {
            for conversation in list where known.insert(conversation.id).inserted {
                try await read(reprise.channel(conversation.id), screen)
            }
        }
    }

    /// Publishes what the person writes; it is reported when it is recorded.
    private func answer(_ reprise: AccountClient) async throws {
        let file = phone.folder.appendingPathComponent(Self.answers)
        while true {
            try await Task.sleep(for: .milliseconds(50))
            guard let line = try? String(contentsOf: file, encoding: .utf8) else { continue }
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard words.count == 3 else { continue }
            let id = try EntryID(words[1])
            // Killed before the file is removed, it publishes the same id again.
            try await reprise.channel(words[0]).publish(#"{"text":"\#(words[2])"}"#, id: id)
            try FileManager.default.removeItem(at: file)
            await phone.report("said", id.text)
        }
    }

    /// A tap opens its conversation, and is finished when that is on the screen.
    private func follow(_ notices: Notices, _ screen: NoticesScreen) async throws {
        for await tap in notices.taps {
            guard let channel = tap.route?.id else {
                try await tap.declined("it names no conversation")
                continue
            }
            try await screen.opens(channel, through: tap.seq ?? 0)
            await phone.report("route", "\(channel) \(tap.reason)")
            try await tap.presented()
        }
    }

    static let category = NotificationCategory(
        id: "message",
        actions: [
            .init(id: "reply", title: "Reply", asksForText: true),
            .init(id: "read", title: "Mark as read"),
        ])

    private var configuration: AccountClient.Configuration {
        var notices = Notices.Configuration()
        notices.timekeeper = phone.timekeeper
        notices.transport = NIOTransport()
        notices.category = Self.category.id
        var configuration = AccountClient.Configuration()
        configuration.notices = notices
        configuration.journal.timekeeper = phone.timekeeper
        configuration.channels.timekeeper = phone.timekeeper
        configuration.channels.reportsPhases = true
        return configuration
    }
}

/// The conversation on the screen: its messages are marked as read.
private actor NoticesScreen {
    private let reprise: AccountClient
    private var open: String?
    private var newest: [String: Int64] = [:]

    init(_ reprise: AccountClient) { self.reprise = reprise }

    func opens(_ channel: String, through seq: Int64) async throws {
        open = channel
        let conversation = try reprise.channel(channel)
        try await conversation.setVisible(true)
        try await conversation.markRead(through: max(seq, newest[channel] ?? 0))
    }

    func closes() async throws {
        guard let open else { return }
        self.open = nil
        try await reprise.channel(open).setVisible(false)
    }

    func came(_ message: Message) async throws {
        let channel = message.channel.text
        newest[channel] = max(newest[channel] ?? 0, message.seq)
        guard open == channel else { return }
        try await reprise.channel(channel).markRead(through: message.seq)
    }
}

/// The facade's own handler, with reports to the log.
private struct ReportingNotices: NotificationHandler {
    let phone: PhoneApp
    let reprise: AccountClient

    func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        let options = await reprise.willPresent(notification)
        await phone.report("willPresent", "\(notification.request.id) \(options.rawValue)")
        return options
    }

    func received(_ response: NotificationResponse) async throws {
        try await reprise.received(response)
        await phone.report("recorded", response.tapID.text)
    }

    func receivedPush(_ info: [UInt8]) async {
        await reprise.receivedPush(info)
        await phone.report("pushed")
    }
}
