import GRDB
import RepriseChannels
import RepriseCore
import RepriseNotices
import RepriseWire

/// What the door for notices needs of channels.
struct ChannelNotices: NoticeMessages {
    let channels: Channels

    func observe(_ observer: @escaping @Sendable (NoticeNews) -> Void) {
        channels.observe { news in
            switch news {
            case .changed(let channel): observer(.changed(channel))
            case .appeared(let channel): observer(.appeared(channel))
            case .disappeared(let channel): observer(.disappeared(channel))
            case .left(let channel): observer(.left(channel))
            }
        }
    }

    func flows(of names: [ChannelName]) async -> [ChannelName: NoticeFlow] {
        await channels.flows(of: names).mapValues {
            NoticeFlow(
                liveAfter: $0.liveAfter, isCatchingUp: $0.isCatchingUp, isRefused: $0.isRefused,
                calendarAhead: $0.calendarAhead, isPlaced: $0.isPlaced)
        }
    }

    func marks(_ db: Database) throws -> [(channel: String, mark: String)] {
        try NoticeRows.marks(db)
    }

    func mark(of channel: ChannelName, _ db: Database) throws -> String? {
        try NoticeRows.mark(of: channel, db)
    }

    func standing(of channel: ChannelName, _ db: Database) throws -> NoticeStanding? {
        try NoticeRows.standing(of: channel, db).map {
            NoticeStanding(
                log: $0.log, epoch: $0.epoch, hasFormer: $0.hasFormer, head: $0.head,
                base: $0.base, arrival: $0.arrival, read: $0.read, start: $0.start,
                isComplete: $0.isComplete)
        }
    }

    func newest(
        of channel: ChannelName, in standing: NoticeStanding, after arrival: Int64, limit: Int,
        _ db: Database
    ) throws -> [NoticeMessage] {
        let log = LogStanding(
            log: standing.log, epoch: standing.epoch, hasFormer: standing.hasFormer,
            head: standing.head, base: standing.base, arrival: standing.arrival,
            read: standing.read,
            start: standing.start, isComplete: standing.isComplete)
        return try NoticeRows.newest(of: channel, in: log, after: arrival, limit: limit, db).map {
            NoticeMessage(
                id: $0.id, channel: $0.channel, seq: $0.seq, from: $0.from, time: $0.time,
                change: $0.change, isDeleted: $0.isDeleted, body: $0.body)
        }
    }

    func find(_ seq: Int64, in log: Int64, _ db: Database) throws
        -> (isThere: Bool, isDeleted: Bool)
    {
        try NoticeRows.find(seq, in: log, db)
    }

    func unread(in channel: ChannelName, _ db: Database) throws -> Unread {
        try NoticeRows.unread(in: channel, db)
    }

    func isReadKnown(_ channel: ChannelName, through seq: Int64, _ db: Database) throws -> Bool {
        try NoticeRows.isReadKnown(channel, through: seq, db)
    }

    func user(_ db: Database) throws -> UserID? { try NoticeRows.user(db) }

    func publish(_ json: [UInt8], id: EntryID, to channel: ChannelName, in db: Database) throws {
        try channels.channel(channel.text).publish(json, id: id, in: db)
    }

    func markRead(_ channel: ChannelName, through seq: Int64, in db: Database) throws {
        try channels.markRead(channel, through: seq, in: db)
    }
}
