import Foundation
import Reprise
import RepriseCore
import RepriseNotices

extension ExamplesFixture {
    func notices() async throws {
        var configuration = Reprise.Configuration()
        configuration.notices = Notices.Configuration()
        let reprise = try await Reprise.open(
            at: folder, server: server, dialer: dialer, configuration: configuration)
        let general = try reprise.channel("general")
        try await general.subscribe()
        Task { try await reprise.run() }
        // On Apple systems `SystemNotifications()`.
        Task { try await reprise.notices?.run(notifications: notifications) }
        // `reprise` is the NotificationHandler of all features: give it to the platform's delegate.
        if let notices = reprise.notices {
            for await tap in notices.taps {
                await router.open(tap.route, tap.resolution)
                try await tap.presented()
            }
        }
    }

    func settings(
        _ notices: Notices, ada: UserID, tomorrow: WallTime, token: [UInt8],
        show: ([ChannelName: NoticeSettings.Mute]) -> Void
    ) async throws {
        try await notices.mute(channel: ChannelName("general"), until: tomorrow)
        try await notices.mute(person: ada)
        try await notices.setQuietHours(
            QuietHours(from: "22:00", to: "07:00", zone: "Europe/Berlin"))
        // At each start, with what the system says then.
        try await notices.registered(pushToken: token)
        for await settings in notices.settingsChanges { show(settings.channels) }
    }
}
