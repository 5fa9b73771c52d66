import GRDB
import RepriseChannels
import RepriseCore
import RepriseNotices
import RepriseWire

/// The part of channels that the notices feature needs.
struct ChannelNotices: NoticeMessages {
    let channels: Channels

    func observe(_ observer: @escaping @Sendable (NoticeFeedEvent) -> Void) {
        channels.observe { event in
            // A directory rings for nobody.
            if case .changed(let channel) = event, channel.isDirectory { return }
            observer(event)
        }
    }

    func flows(of names: [ChannelName]) async -> [ChannelName: NoticeFlow] {
        var flows = await channels.flows(of: names)
        // A new conversation's banner waits for its title.
        for name in (try? await channels.follower.untold(of: names)) ?? [] {
            flows[name]?.isCatchingUp = true
            flows[name]?.isUntold = true
        }
        return flows
    }

    func marks(_ db: Database) throws -> [(channel: String, mark: String)] {
        try ChannelReading.marks(db)
    }

    func mark(of channel: ChannelName, _ db: Database) throws -> String? {
        try ChannelReading.mark(of: channel, db)
    }

    func standing(of channel: ChannelName, _ db: Database) throws -> NoticeStatus? {
        try ChannelReading.standing(of: channel, db)
    }

    func newest(
        of channel: ChannelName, in standing: NoticeStatus, after arrival: Int64, limit: Int,
        _ db: Database
    ) throws -> [NoticeMessage] {
        try ChannelReading.newest(of: channel, in: standing, after: arrival, limit: limit, db)
    }

    func find(_ seq: Int64, in log: Int64, _ db: Database) throws
        -> (isThere: Bool, isDeleted: Bool)
    {
        try ChannelReading.find(seq, in: log, db)
    }

    func body(of seq: Int64, in log: Int64, _ db: Database) throws -> [UInt8]? {
        try ChannelReading.body(of: seq, in: log, db)
    }

    func unread(in channel: ChannelName, _ db: Database) throws -> Unread {
        try ChannelReading.unread(in: channel, db)
    }

    func isReadKnown(_ channel: ChannelName, through seq: Int64, _ db: Database) throws -> Bool {
        try ChannelReading.isReadKnown(channel, through: seq, db)
    }

    func user(_ db: Database) throws -> UserID? { try ChannelReading.user(db) }

    var isAnonymous: Bool { channels.isAnonymous }

    func publish(_ json: [UInt8], id: EntryID, to channel: ChannelName, in db: Database) throws {
        try channels.channel(channel.text).publish(json, id: id, in: db)
    }

    func markRead(_ channel: ChannelName, through seq: Int64, in db: Database) throws {
        try channels.markRead(channel, through: seq, in: db)
    }
}
