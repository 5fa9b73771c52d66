import RepriseCore
import RepriseServer
import RepriseWire

/// A store that is written by a journal alone.
protocol JournaledStore: LogStore {
    var view: ClusterView { get }
}

extension JournaledStore {
    func state(of channel: ChannelName) throws -> LogChannelState {
        try view.log.stepped.state(of: channel)
    }

    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) throws -> LogPage {
        try view.log.stepped.page(
            of: channel, missing: missing, limit: limit, byteLimit: byteLimit)
    }

    func dump() throws -> [String] { try view.dump() }

    func append(_ batch: [NewMessage], now: WallTime, fate: Fate) throws -> [AppendResult] {
        throw Self.written
    }
    func preview(_ batch: [NewMessage], now: WallTime) throws -> [AppendResult] {
        throw Self.written
    }
    func trim(_ policy: RetentionPolicy, now: WallTime, fate: Fate) throws { throw Self.written }
    func crash(losingPower: Bool, keepsUnsynced: Bool) throws -> [ServerFrame.Event] { [] }
    func backUp() throws { throw Self.written }
    func restore(epoch: Epoch?) throws { throw Self.written }
    func replace(epoch: Epoch) throws { throw Self.written }

    private static var written: RepriseError {
        RepriseError(.internal, "The journal alone writes here.")
    }
}
