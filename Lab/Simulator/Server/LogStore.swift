package import RepriseCore
package import RepriseServer
package import RepriseWire

/// What a server keeps on disk: the message log, as transactions that take effect at once.
///
/// Three implementations: the model (tier a), the real SQLite log (tier b), both compared (tier c).
/// None of them is asked for its fate: `fate` says, when something is really written, what the disk
/// makes of that commit. What a commit left behind whose sync failed is there after a crash or not,
/// and until the next commit writes over it.
package protocol LogStore: AnyObject {
    typealias Fate = () -> SimulatedDisk.Fate

    /// Stores a batch, or throws what the shipping log throws.
    func append(
        _ batch: [NewMessage], now: WallTime, fate: Fate
    ) throws -> [AppendResult]
    /// What ``append(_:now:fate:)`` would answer; nothing is stored. (For wrong drivers alone: a
    /// right one never knows.)
    func preview(_ batch: [NewMessage], now: WallTime) throws -> [AppendResult]
    func state(of channel: ChannelName) throws -> LogChannelState
    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) throws -> LogPage
    /// Takes away what the policy no longer keeps, and forgets ids whose time is over.
    func trim(_ policy: RetentionPolicy, now: WallTime, fate: Fate) throws
    /// The process has died, and what follows opens the log again.
    ///
    /// - Parameters:
    ///   - losingPower: what was not synced goes too.
    ///   - keepsUnsynced: whether a commit whose sync had failed is found.
    /// - Returns: what turns out to be stored though that had been called a failure.
    /// - Throws: what opening the log throws.
    func crash(losingPower: Bool, keepsUnsynced: Bool) throws -> [ServerFrame.Event]
    /// Copies the log away; there is one backup at a time.
    func backUp() throws
    /// Puts the backup in place of a log that is not open; without one, an empty log.
    ///
    /// `epoch` is the one that `--restored` mints; nil leaves the backup's.
    func restore(epoch: Epoch?) throws
    /// Puts an empty log in place of one that is not open.
    func replace(epoch: Epoch) throws
    /// Every row, in order, as text.
    func dump() throws -> [String]
}

extension LogStore {
    /// All that is stored of a channel.
    package func everything(in channel: ChannelName) throws -> LogPage {
        let head = try state(of: channel).head
        let missing = SequenceRange(after: 0, through: head).map { [$0] } ?? []
        return try page(of: channel, missing: missing, limit: .max, byteLimit: .max)
    }
}
