import GRDB
import RepriseCore
import RepriseWire

/// The door for channels: one connection to one server, and everything that comes and goes through it.
public final class Channels: Sendable {
    enum Effect: Sendable {
        case outside(
            isApplied: (@Sendable (EntryID) async throws -> Bool)?,
            handler: @Sendable (Message) async throws -> Void)
        case inside(@Sendable (Database, [Message]) throws -> Void)
    }

    init() {}

    /// A handle on a channel.
    public func channel(_ name: String) throws -> Channel {
        Channel(name: try ChannelName(name), channels: self)
    }

    /// Connects, and connects again, and hands messages to readers, until the task is cancelled.
    public func run() async throws {}

    /// Where the connection stands: first now, then each change.
    ///
    /// Who reads slowly gets the newest 64.
    public var connectionStates: AsyncStream<ConnectionState> {
        get async { AsyncStream { $0.finish() } }
    }

    func subscribe(_ name: ChannelName) async {}
    func unsubscribe(_ name: ChannelName) async {}
    func read(_ name: ChannelName, reader: String, options: ReaderOptions, effect: Effect)
        async throws
    {}
    func forget(_ reader: String, in name: ChannelName) async throws {}
    func publish(_ json: [UInt8], id: EntryID, to name: ChannelName) async throws -> EntryID { id }
    func state(of name: ChannelName) async -> ChannelState { .closed }
    func states(of name: ChannelName) async -> AsyncStream<ChannelState> {
        AsyncStream { $0.finish() }
    }
    func caughtUp(_ name: ChannelName) async throws {}
    func failures(of reader: String, in name: ChannelName, limit: Int) async throws
        -> [FailedMessage]
    { [] }
    func retry(_ id: EntryID, reader: String, in name: ChannelName) async throws {}
    func discard(_ id: EntryID, reader: String, in name: ChannelName) async throws {}
}
