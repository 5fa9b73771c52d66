import Foundation
import Reprise
import RepriseCore
import RepriseNotices

/// An app's own notification delegate.
private struct OwnDelegate {
    func connect(_ client: RepriseClient) async {
        await client.setReady(.ui)  // while a screen can present
    }

    func received(_ response: NotificationResponse, _ client: RepriseClient) async throws {
        // Durable when it returns; then the system's completion handler is called.
        try await client.received(response)
    }
}

extension ExamplesFixture {
    func notices(_ configuration: RepriseConfiguration) async throws {
        var configuration = configuration
        configuration.notifications = notifications  // SystemNotifications()
        configuration.notices = Notices.Configuration()
        let client = RepriseClient(configuration)
        try await client.channel("general", of: Note.self).subscribe()
        Task { try await client.run() }

        for await tap in client.noticeTaps {  // once `ui` is set
            await router.open(tap.route, tap.resolution)
            try await tap.presented()  // durable when it returns: never delivered again
        }
    }

    func mentions(_ general: TypedChannel<Note>, ben: UserID) async throws {
        // {"text":"@ben look","notice":{"mentions":["ben"]}}
        try await general.publish(Note(text: "@ben look"), mentions: [ben])
    }

    func buttons(_ configuration: RepriseConfiguration) async throws {
        var configuration = configuration
        configuration.notices?.category = "message"
        let message = NotificationCategory(
            id: "message",
            actions: [
                .init(id: "reply", title: "Reply", asksForText: true),
                .init(id: "read", title: "Mark as read"),
            ])
        // All of the app's categories in one call.
        try await notifications.setCategories(
            [message] + (configuration.reminders?.categories ?? []))
    }

    func settings(
        _ client: RepriseClient, _ notices: Notices, ada: UserID, tomorrow: WallTime,
        token: [UInt8],
        show: ([ChannelName: NoticeSettings.Mute]) -> Void
    ) async throws {
        try await notices.mute(channel: ChannelName("general"), until: tomorrow)
        try await notices.mute(person: ada)
        try await notices.setSilentElsewhere(true)  // while another device is used
        try await notices.setQuietHours(
            QuietHours(from: "22:00", to: "07:00", zone: "Europe/Berlin"))
        // At each start, with what the system says then.
        try await client.registered(pushToken: token)  // for every account
        for await settings in notices.settingsChanges { show(settings.channels) }
    }
}
