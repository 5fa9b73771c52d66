import Synchronization

/// What handlers were given, in order: an observer outside of everything that is tested.
package final class Seen<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    package init() {}

    package var all: [Value] { values.withLock { $0 } }
    package var count: Int { values.withLock { $0.count } }

    package func add(_ value: Value) { values.withLock { $0.append(value) } }
}
