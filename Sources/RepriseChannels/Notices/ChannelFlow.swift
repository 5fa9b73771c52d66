import RepriseCore
package import RepriseWire

/// How messages of a channel come at the moment.
package struct ChannelFlow: Hashable, Sendable {
    /// What has a greater sequence than this has come live; nil: the server has not said yet where the log ends.
    package var liveAfter: Int64?
    /// Whether what was missing is still coming.
    package var isCatchingUp: Bool
    /// Whether the server refuses the channel: the user is no member.
    package var isRefused: Bool
    /// By how much the device's calendar is ahead of the server's, by which messages are dated.
    package var calendarAhead: Duration = .zero
    /// Whether the journal has what the user has read elsewhere, as the server says now.
    package var isPlaced = false
}

extension Channels {
    /// How messages come, of those channels that are subscribed to.
    package func flows(of channels: [ChannelName]) async -> [ChannelName: ChannelFlow] {
        await driver.flows(of: channels)
    }
}

extension ChannelsDriver {
    func flows(of channels: [ChannelName]) -> [ChannelName: ChannelFlow] {
        let ahead = calendarAhead
        return channels.reduce(into: [:]) { all, channel in
            all[channel] = machine.flow(of: channel)
            all[channel]?.calendarAhead = ahead
            all[channel]?.isPlaced = presence.isPlaced(channel)
        }
    }
}

extension ChannelsDriver {
    /// By what the server said last that time it is; zero before it has.
    private var calendarAhead: Duration {
        guard let serverClock else { return .zero }
        let server = serverClock.time.advanced(by: now - serverClock.at)
        return server.duration(to: configuration.timekeeper.wall())
    }
}

extension ChannelsMachine {
    func flow(of channel: ChannelName) -> ChannelFlow? {
        guard let place = places[channel] else { return nil }
        let machine = subscriptions[place].machine
        return ChannelFlow(
            liveAfter: machine.newestTarget,
            isCatchingUp: machine.isCatchingUp && machine.missing > 0,
            isRefused: machine.mode == .refused)
    }
}
