package import RepriseCore

/// What the door for notices hears of channels.
package enum NoticeNews: Hashable, Sendable {
    /// Messages, positions, counts or the state of the channel have changed.
    case changed(ChannelName)
    /// Somebody looks at it.
    case appeared(ChannelName)
    /// Nobody looks at it any more.
    case disappeared(ChannelName)
    /// The app takes no part in it any more.
    case left(ChannelName)
}

/// How messages of a channel come at the moment.
package struct NoticeFlow: Hashable, Sendable {
    /// What has a greater sequence than this has come live; nil: the server has not said yet where
    /// the log ends.
    package var liveAfter: Int64?
    /// Whether what was missing is still coming.
    package var isCatchingUp: Bool
    /// Whether the server refuses the channel: the user is no member.
    package var isRefused: Bool
    /// By how much the device's calendar is ahead of the server's, by which messages are dated.
    package var calendarAhead: Duration
    /// Whether the journal has what the user has read elsewhere, as the server says now.
    package var isPlaced: Bool

    package init(
        liveAfter: Int64? = nil, isCatchingUp: Bool = false, isRefused: Bool = false,
        calendarAhead: Duration = .zero, isPlaced: Bool = false
    ) {
        self.liveAfter = liveAfter
        self.isCatchingUp = isCatchingUp
        self.isRefused = isRefused
        self.calendarAhead = calendarAhead
        self.isPlaced = isPlaced
    }
}

/// Where a channel's log stands.
package struct NoticeStanding: Hashable, Sendable {
    package var log: Int64
    package var epoch: String
    /// Whether another log of the channel came before it.
    package var hasFormer: Bool
    package var head: Int64
    /// The arrival before the first in this log.
    package var base: Int64
    /// Of the message that came last.
    package var arrival: Int64
    /// How far the user has read.
    package var read: Int64
    /// Messages up to it do not count as unread.
    package var start: Int64
    /// Whether the journal has everything up to the head, so that unread messages are counted here.
    package var isComplete: Bool

    package init(
        log: Int64, epoch: String, hasFormer: Bool, head: Int64, base: Int64, arrival: Int64,
        read: Int64, start: Int64, isComplete: Bool
    ) {
        self.log = log
        self.epoch = epoch
        self.hasFormer = hasFormer
        self.head = head
        self.base = base
        self.arrival = arrival
        self.read = read
        self.start = start
        self.isComplete = isComplete
    }
}

/// A message, as far as it can be shown.
package struct NoticeMessage: Hashable, Sendable, Identifiable {
    package var id: EntryID
    package var channel: ChannelName
    package var seq: Int64
    package var from: UserID?
    package var time: WallTime
    /// Whether it is an edit or a deletion of another.
    package var change: MessageChange<Int64>?
    package var isDeleted: Bool
    package var body: [UInt8]

    package init(
        id: EntryID, channel: ChannelName, seq: Int64, from: UserID?, time: WallTime,
        change: MessageChange<Int64>? = nil, isDeleted: Bool = false, body: [UInt8]
    ) {
        self.id = id
        self.channel = channel
        self.seq = seq
        self.from = from
        self.time = time
        self.change = change
        self.isDeleted = isDeleted
        self.body = body
    }
}
