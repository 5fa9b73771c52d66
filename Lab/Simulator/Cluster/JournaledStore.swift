import RepriseCore
import RepriseServer
import RepriseWire

/// A store that is written by a journal alone.
protocol JournaledStore: LogStore {}

extension JournaledStore {
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
