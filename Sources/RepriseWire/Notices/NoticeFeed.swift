package import RepriseCore

/// The events of channels for the notices feature.
package enum NoticeFeedEvent: Hashable, Sendable {
    /// Messages, positions, counts or the state of the channel have changed.
    case changed(ChannelName)
    /// It is visible.
    case appeared(ChannelName)
    /// It is no longer visible.
    case disappeared(ChannelName)
    /// The app no longer subscribes to it.
    case left(ChannelName)
}

/// The current flow of a channel's messages.
package struct NoticeFlow: Hashable, Sendable {
    /// Messages with a greater sequence arrived live; nil: the server has not told the log's end
    /// yet.
    package var liveAfter: Int64?
    /// Whether missing messages are still arriving.
    package var isCatchingUp: Bool
    /// Whether its title, or that it has none, is still to come.
    package var isUntold = false
    /// Whether the server refuses the channel: the user is not a member.
    package var isRefused: Bool
    /// How far the device's calendar is ahead of the server's, which dates messages.
    package var calendarAhead: Duration
    /// Whether the journal has the user's read positions of other devices, as the server now tells
    /// them.
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

/// The positions of a channel's log.
package struct NoticeStatus: Hashable, Sendable {
    package var log: Int64
    package var epoch: String
    /// Whether the channel had an earlier log.
    package var hasFormer: Bool
    package var head: Int64
    /// The arrival before the first in this log.
    package var base: Int64
    /// The arrival of the latest message.
    package var arrival: Int64
    /// How far the user has read.
    package var read: Int64
    /// Messages up to here do not count as unread.
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

/// A message, with the properties that can be shown.
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
    /// The title of its conversation, as the server told it; nil: none.
    package var conversation: String?
    /// The author's profile, if the server has told it.
    package var sender: Profile?

    package init(
        id: EntryID, channel: ChannelName, seq: Int64, from: UserID?, time: WallTime,
        change: MessageChange<Int64>? = nil, isDeleted: Bool = false, body: [UInt8],
        conversation: String? = nil, sender: Profile? = nil
    ) {
        self.sender = sender
        self.conversation = conversation
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
