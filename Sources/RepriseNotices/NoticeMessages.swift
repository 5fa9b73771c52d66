package import GRDB
package import RepriseCore
package import RepriseWire

/// The channels feature as notices need it: the facade provides it.
///
/// Every function with a database reads or writes in the current transaction of the journal.
package protocol NoticeMessages: Sendable {
    /// Reports every event from now on; the observer must not block.
    func observe(_ observer: @escaping @Sendable (NoticeFeedEvent) -> Void)

    /// How messages currently arrive, for each subscribed channel.
    func flows(of channels: [ChannelName]) async -> [ChannelName: NoticeFlow]

    /// Each channel's change mark; equal marks mean no change.
    func marks(_ db: Database) throws -> [(channel: String, mark: String)]

    func mark(of channel: ChannelName, _ db: Database) throws -> String?

    /// - Returns: nil: the journal has nothing of the channel.
    func standing(of channel: ChannelName, _ db: Database) throws -> NoticeStatus?

    /// The latest messages, newest first.
    func newest(
        of channel: ChannelName, in standing: NoticeStatus, after arrival: Int64, limit: Int,
        _ db: Database
    ) throws -> [NoticeMessage]

    func find(_ seq: Int64, in log: Int64, _ db: Database) throws
        -> (isThere: Bool, isDeleted: Bool)

    /// - Returns: nil: the journal does not have the message.
    func body(of seq: Int64, in log: Int64, _ db: Database) throws -> [UInt8]?

    /// The user's unread messages, by the server's rule.
    func unread(in channel: ChannelName, _ db: Database) throws -> Unread

    /// Whether the server has confirmed that the user has read up to here.
    func isReadKnown(_ channel: ChannelName, through seq: Int64, _ db: Database) throws -> Bool

    /// The signed-in user; nil: nobody, or not known yet.
    func user(_ db: Database) throws -> UserID?

    /// Whether nobody is signed in.
    var isAnonymous: Bool { get }

    /// Records a message for the server.
    func publish(_ json: [UInt8], id: EntryID, to channel: ChannelName, in db: Database) throws

    /// Records that the user has read.
    func markRead(_ channel: ChannelName, through seq: Int64, in db: Database) throws
}

extension NoticeMessages {
    /// Whether a push, or a notification, for `user` is of a message to somebody else than the
    /// signed-in user; one that does not say for whom it is, is nobody else's.
    func isForeign(_ user: UserID?, _ db: Database) throws -> Bool {
        guard let user else { return false }
        return try isAnonymous || self.user(db).map { $0 != user } ?? false
    }
}
