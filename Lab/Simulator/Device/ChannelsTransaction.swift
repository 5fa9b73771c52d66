package import RepriseChannels
package import RepriseCore
package import RepriseWire

/// The channels' part of a transaction on a device's store: what `ChannelStore` and `ReaderStore`
/// do in the shipping journal.
package protocol ChannelsTransaction: AnyObject {
    func stored(_ channel: ChannelName) throws -> ChannelStore.Stored?
    /// Writes a batch if the logs are where memory believes them to be; says where they are then.
    func write(_ batch: StagedBatch, at positions: [ChannelName: LogPosition]) throws
        -> [ChannelName: LogPosition]

    /// Takes the reader's place; what a process that has died may have had in a handler becomes an
    /// exception.
    func begin(_ reader: ReaderRows, _ options: ReaderOptions, now: WallTime) throws
        -> ReaderStore.Position
    func page(_ reader: ReaderRows, after cursor: Int64) throws -> [Arrived]
    func due(_ reader: ReaderRows, of id: Int64, now: WallTime) throws -> ReaderStore.Due
    func markDispatched(_ reader: ReaderRows, of id: Int64, arrival: Int64) throws
    func settle(_ reader: ReaderRows, of id: Int64, _ acknowledgement: ReaderWrite.Acknowledgement)
        throws
    func write(_ reader: ReaderRows, of id: Int64, _ write: ReaderWrite) throws
    /// Runs `effect`; what it wrote is undone if it throws.
    func attempt(_ effect: () throws -> Void) throws

    func contents(of channel: ChannelName) throws -> ChannelContents
    /// What a list shows of a channel; nil on a model, which has no list.
    func list(of channel: ChannelName) throws -> [ChannelMessage]?
    func channelsLedger() throws -> LedgerSum
}

/// What a device's store has of a channel, for those who check it.
package struct ChannelContents: Hashable, Sendable {
    package struct Message: Hashable, Sendable {
        package var epoch: Epoch
        package var seq: Int64
        package var id: EntryID
        package var change: MessageChange<Int64>?
        package var isDeleted: Bool
        package var body: [UInt8]
    }

    package struct Loss: Hashable, Sendable {
        package var epoch: Epoch
        package var after: Int64
        /// nil: nobody knows how many.
        package var through: Int64?
        package var reason: String
    }

    /// What a reader has not finished on the straight path.
    package struct Exception: Hashable, Sendable {
        package var reader: String
        package var id: EntryID
        package var state: ReaderStore.State
        package var attempts: Int
    }

    /// In the order in which they arrived.
    package var messages: [Message] = []
    package var losses: [Loss] = []
    package var exceptions: [Exception] = []

    package init() {}
}
