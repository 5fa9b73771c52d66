import Reprise
import Synchronization

/// The tasks that keep a model current; they are cancelled with their last reference.
///
/// In place of an isolated `deinit`, which needs iOS 18.4.
final class Watches: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])

    func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

    deinit { for task in tasks.withLock({ $0 }) { task.cancel() } }
}

extension Watches {
    /// Takes each value of a stream for `model`, as long as that exists.
    @MainActor
    func follow<Model: AnyObject & Sendable, Value: Sendable>(
        _ values: AsyncStream<Value>, for model: Model,
        _ take: @escaping @MainActor (Model, Value) -> Void
    ) {
        add(
            Task { @MainActor [weak model] in
                for await value in values {
                    guard let model else { return }
                    take(model, value)
                }
            })
    }

    /// Takes each value of one stream of each account, one account after the other.
    ///
    /// - Parameters:
    ///   - client: the client.
    ///   - model: the model, which may end meanwhile.
    ///   - stream: the stream of the current account; what it throws ends it for that account.
    ///   - take: called with each value.
    @MainActor
    func follow<Model: AnyObject & Sendable, Value: Sendable>(
        accountsOf client: RepriseClient, for model: Model,
        _ stream: @escaping @Sendable (RepriseClient) async throws -> AsyncStream<Value>,
        _ take: @escaping @MainActor (Model, Value) -> Void
    ) {
        let states = client.states
        add(
            Task { @MainActor [weak model] in
                var current: Task<Void, Never>?
                for await state in states {
                    current?.cancel()
                    guard case .open = state else { continue }
                    current = Task { @MainActor [weak model] in
                        guard let values = try? await stream(client) else { return }
                        for await value in values {
                            guard let model, !Task.isCancelled else { return }
                            take(model, value)
                        }
                    }
                }
                current?.cancel()
            })
    }
}
