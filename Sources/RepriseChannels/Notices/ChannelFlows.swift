import RepriseCore
package import RepriseWire

extension Channels {
    /// The current flow of messages of the subscribed channels.
    package func flows(of channels: [ChannelName]) async -> [ChannelName: NoticeFlow] {
        await driver.flows(of: channels)
    }
}

extension ChannelsDriver {
    func flows(of channels: [ChannelName]) -> [ChannelName: NoticeFlow] {
        let ahead = calendarAhead
        return channels.reduce(into: [:]) { all, channel in
            all[channel] = machine.machine(of: channel)?.flow
            all[channel]?.calendarAhead = ahead
            all[channel]?.isPlaced = presence.isPlaced(channel)
        }
    }

    /// How far the calendar is ahead of the server's latest time; zero before the first.
    private var calendarAhead: Duration {
        guard let serverClock else { return .zero }
        let server = serverClock.time.advanced(by: now - serverClock.at)
        return server.duration(to: configuration.timekeeper.wall())
    }
}
