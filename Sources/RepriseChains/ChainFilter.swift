import GRDB
import RepriseCore

/// Which chains a list has; what is nil does not matter.
///
/// ```swift
/// let stuck = try await client.chains.list(.init(states: [.running], olderThan: .seconds(86_400)))
/// ```
public struct ChainFilter: Hashable, Sendable {
    /// The chain is in one of these states.
    public var states: Set<ChainState>?
    /// It was started under this unique name.
    public var name: String?
    /// The name of its definition.
    public var definition: String?
    /// Its age by the device's calendar: since it ended, or, while it has not, since its start.
    public var olderThan: Duration?

    /// Describes the chains of a list.
    ///
    /// - Parameters:
    ///   - states: the chain is in one of these states.
    ///   - name: it was started under this unique name.
    ///   - definition: the name of its definition.
    ///   - olderThan: its age: since it ended, or, while it has not, since its start.
    public init(
        states: Set<ChainState>? = nil, name: String? = nil, definition: String? = nil,
        olderThan: Duration? = nil
    ) {
        (self.states, self.name, self.definition) = (states, name, definition)
        self.olderThan = olderThan
    }

    /// A condition on the table `chain`.
    func condition(at now: WallTime) -> (sql: String, arguments: StatementArguments) {
        var parts = ["1"]
        var arguments: StatementArguments = []
        if let states {
            let codes = states.map { "\($0.rawValue)" }.sorted()
            parts.append("state IN (\(codes.joined(separator: ",")))")
        }
        for (column, value) in [("name", name), ("definition", definition)] {
            guard let value else { continue }
            parts.append("\(column) = ?")
            arguments += [value]
        }
        if let olderThan {
            parts.append("\(Self.aged) <= ?")
            arguments += [now.advanced(by: .zero - olderThan).milliseconds]
        }
        return (parts.joined(separator: " AND "), arguments)
    }

    /// Since when a chain has its age.
    static let aged = "COALESCE(endedAt, startedAt)"
}
