package import GRDB
package import RepriseCore
package import RepriseWire

/// What this door needs of channels: the facade gives it.
///
/// All that takes a database reads or writes in the transaction of the journal that is under way.
package protocol NoticeMessages: Sendable {
    /// Tells of everything from now on; the observer must not wait.
    func observe(_ observer: @escaping @Sendable (NoticeNews) -> Void)

    /// How messages come at the moment, of those channels that are subscribed to.
    func flows(of channels: [ChannelName]) async -> [ChannelName: NoticeFlow]

    /// What was true of each channel when it changed last; where it is the same nothing has
    /// changed.
    func marks(_ db: Database) throws -> [(channel: String, mark: String)]

    func mark(of channel: ChannelName, _ db: Database) throws -> String?

    /// - Returns: nil: the journal has nothing of the channel.
    func standing(of channel: ChannelName, _ db: Database) throws -> NoticeStanding?

    /// What came last, newest first.
    func newest(
        of channel: ChannelName, in standing: NoticeStanding, after arrival: Int64, limit: Int,
        _ db: Database
    ) throws -> [NoticeMessage]

    func find(_ seq: Int64, in log: Int64, _ db: Database) throws
        -> (isThere: Bool, isDeleted: Bool)

    /// - Returns: nil: the journal does not have the message.
    func body(of seq: Int64, in log: Int64, _ db: Database) throws -> [UInt8]?

    /// What the user has not read, by the server's rule.
    func unread(in channel: ChannelName, _ db: Database) throws -> Unread

    /// Whether the server is known to have that the user has read so far.
    func isReadKnown(_ channel: ChannelName, through seq: Int64, _ db: Database) throws -> Bool

    /// Who is signed in.
    func user(_ db: Database) throws -> UserID?

    /// Records a message for the server.
    func publish(_ json: [UInt8], id: EntryID, to channel: ChannelName, in db: Database) throws

    /// Records that the user has read.
    func markRead(_ channel: ChannelName, through seq: Int64, in db: Database) throws
}
