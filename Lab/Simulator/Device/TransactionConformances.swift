package import RepriseChannels
package import RepriseCore
package import RepriseWire

extension ModelTransaction: ChannelsTransaction {
    package func stored(_ channel: ChannelName) -> ChannelStore.Stored? {
        state.channels.stored(channel)
    }

    package func write(_ batch: StagedBatch, at positions: [ChannelName: LogPosition]) throws
        -> [ChannelName: LogPosition]
    {
        try state.channels.write(batch, at: positions)
    }

    package func begin(_ reader: ReaderRows, _ options: ReaderOptions, now: WallTime)
        -> ReaderStore.Position
    {
        state.channels.begin(reader, options, now: now)
    }

    package func page(_ reader: ReaderRows, after cursor: Int64) -> [Arrived] {
        state.channels.page(reader, after: cursor)
    }

    package func due(_ reader: ReaderRows, of id: Int64, now: WallTime) -> ReaderStore.Due {
        state.channels.due(reader, of: id, now: now)
    }

    package func markDispatched(_ reader: ReaderRows, of id: Int64, arrival: Int64) {
        state.channels.markDispatched(of: id, arrival: arrival)
    }

    package func settle(
        _ reader: ReaderRows, of id: Int64, _ acknowledgement: ReaderWrite.Acknowledgement
    ) {
        state.channels.settle(of: id, acknowledgement, now: now)
    }

    package func write(_ reader: ReaderRows, of id: Int64, _ write: ReaderWrite) {
        state.channels.write(of: id, write, now: now)
    }

    package func attempt(_ effect: () throws -> Void) throws { try inSavepoint(effect) }

    package func list(of channel: ChannelName) -> [ChannelMessage]? { nil }

    package func contents(of channel: ChannelName) -> ChannelContents {
        state.channels.contents(of: channel)
    }

    package func channelsLedger() -> LedgerSum { state.channels.ledger() }
}

extension ComparedTransaction: ChannelsTransaction {
    package func stored(_ channel: ChannelName) throws -> ChannelStore.Stored? {
        try both("stored \(channel)") { try $0.stored(channel) }
    }

    package func write(_ batch: StagedBatch, at positions: [ChannelName: LogPosition]) throws
        -> [ChannelName: LogPosition]
    {
        try both(
            "a batch", text: { "\($0.sorted { $0.key < $1.key })" }
        ) { try $0.write(batch, at: positions) }
    }

    package func begin(_ reader: ReaderRows, _ options: ReaderOptions, now: WallTime) throws
        -> ReaderStore.Position
    {
        try both("begin \(reader.name)") { try $0.begin(reader, options, now: now) }
    }

    package func page(_ reader: ReaderRows, after cursor: Int64) throws -> [Arrived] {
        try both("page of \(reader.name)") { try $0.page(reader, after: cursor) }
    }

    package func due(_ reader: ReaderRows, of id: Int64, now: WallTime) throws
        -> ReaderStore.Due
    {
        try both("due of \(reader.name)") { try $0.due(reader, of: id, now: now) }
    }

    package func markDispatched(_ reader: ReaderRows, of id: Int64, arrival: Int64) throws {
        try both("hand \(arrival)") { try $0.markDispatched(reader, of: id, arrival: arrival) }
    }

    package func settle(
        _ reader: ReaderRows, of id: Int64, _ acknowledgement: ReaderWrite.Acknowledgement
    )
        throws
    {
        try both("settle \(acknowledgement.arrival)") {
            try $0.settle(reader, of: id, acknowledgement)
        }
    }

    package func write(_ reader: ReaderRows, of id: Int64, _ write: ReaderWrite) throws {
        try both("a write of \(reader.name)") { try $0.write(reader, of: id, write) }
    }

    /// The effect itself does everything in both.
    package func attempt(_ effect: () throws -> Void) throws {
        try model.attempt { try real.attempt(effect) }
    }

    package func list(of channel: ChannelName) throws -> [ChannelMessage]? {
        try real.list(of: channel)
    }

    package func contents(of channel: ChannelName) throws -> ChannelContents {
        try both("contents of \(channel)") { try $0.contents(of: channel) }
    }

    package func channelsLedger() throws -> LedgerSum {
        try both("the channels' ledger", text: { $0.canonical }) { try $0.channelsLedger() }
    }
}
