import Synchronization

/// A value that steps and observers share.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }

    @discardableResult
    func update<T: Sendable>(_ body: (inout Value) -> T) -> T { state.withLock { body(&$0) } }
}
