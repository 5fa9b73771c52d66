package import RepriseCore
package import RepriseServer
package import RepriseWire

/// The log of tier (c): model and SQLite log side by side, compared after every transaction and
/// every answer.
package final class ComparedLogStore: LogStore {
    private let model: any LogStore
    private let real: any LogStore
    private let differs: (String) -> Void

    /// - Parameters:
    ///   - model: what tier (a) believes.
    ///   - real: what it should believe.
    ///   - differs: called with what the two do not agree on.
    package init(
        model: any LogStore, real: any LogStore, differs: @escaping (String) -> Void
    ) {
        self.model = model
        self.real = real
        self.differs = differs
    }

    package func append(
        _ batch: [NewMessage], now: WallTime, fate: Fate
    ) throws -> [AppendResult] {
        var known: SimulatedDisk.Fate?  // a commit has one fate, whichever store asks first
        return try compare("append of \(batch.count)", changes: true) { store in
            try store.append(batch, now: now) { Self.once(&known, fate) }
        }
    }

    package func preview(_ batch: [NewMessage], now: WallTime) throws -> [AppendResult] {
        try compare("preview", changes: true) { try $0.preview(batch, now: now) }
    }

    package func state(of channel: ChannelName) throws -> LogChannelState {
        try compare("state of \(channel)") { try $0.state(of: channel) }
    }

    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) throws -> LogPage {
        try compare("page of \(channel), \(missing), \(limit), \(byteLimit)") {
            try $0.page(of: channel, missing: missing, limit: limit, byteLimit: byteLimit)
        }
    }

    package func trim(_ policy: RetentionPolicy, now: WallTime, fate: Fate) throws {
        var known: SimulatedDisk.Fate?
        _ = try compare("trim by \(policy)", changes: true) { store -> Bool in
            try store.trim(policy, now: now) { Self.once(&known, fate) }
            return true
        }
    }

    package func crash(losingPower: Bool, keepsUnsynced: Bool) throws -> [ServerFrame.Event] {
        try compare("crash", changes: true) {
            try $0.crash(losingPower: losingPower, keepsUnsynced: keepsUnsynced)
        }
    }

    package func backUp() throws {
        try model.backUp()
        try real.backUp()
    }

    package func restore(epoch: Epoch?) throws {
        _ = try compare("restore", changes: true) { store -> Bool in
            try store.restore(epoch: epoch)
            return true
        }
    }

    package func replace(epoch: Epoch) throws {
        _ = try compare("replace", changes: true) { store -> Bool in
            try store.replace(epoch: epoch)
            return true
        }
    }

    package func dump() throws -> [String] { try real.dump() }

    // MARK: -

    private static func once(_ known: inout SimulatedDisk.Fate?, _ fate: Fate) -> SimulatedDisk.Fate
    {
        let drawn = known ?? fate()
        known = drawn
        return drawn
    }

    private func compare<Value: Equatable>(
        _ what: String, changes: Bool = false, _ body: (any LogStore) throws -> Value
    ) throws -> Value {
        let expected = attempt { try body(model) }
        let found = attempt { try body(real) }
        if expected != found {
            differs("\(what): the model says \(expected), SQLite \(found)")
        }
        if changes { try compareRows(after: what) }
        return try found.get()
    }

    /// Errors are equal if their codes are.
    private func attempt<Value>(_ body: () throws -> Value) -> Result<Value, RepriseError> {
        do {
            return .success(try body())
        } catch let error as RepriseError {
            return .failure(error)
        } catch {
            return .failure(RepriseError(.internal, "\(error)"))
        }
    }

    private func compareRows(after what: String) throws {
        let (expected, found) = (try model.dump(), try real.dump())
        guard expected != found else { return }
        let only = { (left: [String], right: [String]) in
            left.filter { !right.contains($0) }.joined(separator: "; ")
        }
        differs(
            "after \(what): only the model has [\(only(expected, found))], only SQLite has "
                + "[\(only(found, expected))]")
    }
}
