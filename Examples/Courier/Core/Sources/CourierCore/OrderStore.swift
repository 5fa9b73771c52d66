public import Foundation
public import Reprise
import Synchronization

/// The courier's orders, in one file that is replaced whole: an effect and the id of its command
/// are in it together, or neither is.
public final class OrderStore: ReminderStore {
    static let category = "order"

    private struct Content: Codable {
        var owner: String?
        var deliveries: [String: Delivery] = [:]
        var commands: Set<String> = []
    }

    private struct State {
        /// Nil: not read yet.
        var content: Content?
        var listeners: [UUID: AsyncStream<Void>.Continuation] = [:]
    }

    private let file: URL
    private let state = Mutex(State())

    /// Reads nothing yet.
    ///
    /// - Parameter file: the file; made with the first order.
    public init(at file: URL) { self.file = file }

    // MARK: The app

    /// The deliveries by their numbers: as they are now, then after each change.
    public var lists: AsyncStream<[Delivery]> {
        let news = listen()
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                repeat {
                    let content = try? self.read { $0 }
                    let all = content?.deliveries.values.sorted { $0.id < $1.id }
                    continuation.yield(all ?? [])
                } while await news.first { _ in true } != nil
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Names the courier; another one's orders are removed.
    ///
    /// - Throws: the file system's errors.
    public func setOwner(_ owner: String?) throws {
        guard try read({ $0.owner != owner }) else { return }
        try change { if $0.owner != owner { $0 = Content(owner: owner) } }
    }

    /// Adds an order, or changes it; how far the courier is with it stays.
    ///
    /// - Throws: the file system's errors.
    public func save(_ order: Order) throws {
        try change { $0.deliveries[order.id, default: Delivery(order: order)].order = order }
    }

    /// Says how far the courier is with an order; does nothing for one that is not there.
    ///
    /// - Throws: the file system's errors.
    public func set(_ new: Entity.State, _ id: String) throws {
        try change { $0.deliveries[id]?.state = new }
    }

    // MARK: Reminders

    /// Reads the file; throws while it can't be read, as before the first unlock.
    public func load() async throws {
        let listeners = try state.withLock { state in
            let isNew = state.content == nil
            _ = try content(&state)
            return isNew ? Array(state.listeners.values) : []
        }
        for listener in listeners { listener.yield() }
    }

    /// Looks an order up, whatever its state.
    public func find(_ route: Route) async throws -> EntityFinding {
        try read { $0.deliveries[route.id].map { .found($0.entity) } ?? .unknown }
    }

    /// The orders that ring.
    public func reminded() async throws -> [RemindedEntity] {
        try read { $0.deliveries.values.compactMap(\.reminded) }
    }

    /// Those of these that ring.
    public func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] {
        try read { content in ids.compactMap { content.deliveries[$0]?.reminded } }
    }

    /// Says after each change that it may be anything.
    public var changes: AsyncStream<ReminderChange> {
        let news = listen()
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                for await _ in news { continuation.yield(.everything) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Does what was chosen on a reminder, once.
    public func apply(_ command: ReminderCommand) async throws {
        try change { content in
            guard content.commands.insert(command.id.text).inserted else { return }
            switch command.action {
            case .log(let answer): content.deliveries[command.entity.id]?.answers.append(answer)
            case .pause: content.deliveries[command.entity.id]?.state = .paused
            }
        }
    }

    /// Whether a command has taken effect.
    public func isApplied(_ id: EntryID) async throws -> Bool {
        try read { $0.commands.contains(id.text) }
    }

    // MARK: The file

    private func read<Value>(_ body: (Content) throws -> Value) throws -> Value {
        try state.withLock { try body(try content(&$0)) }
    }

    /// Other threads see the change once it is in the file.
    private func change(_ body: (inout Content) -> Void) throws {
        let listeners = try state.withLock { state in
            var content = try content(&state)
            body(&content)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try JSONEncoder().encode(content).write(to: file, options: .atomic)
            state.content = content
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield() }
    }

    private func content(_ state: inout State) throws -> Content {
        if let content = state.content { return content }
        var content = Content()
        if FileManager.default.fileExists(atPath: file.path) {
            content = try JSONDecoder().decode(Content.self, from: Data(contentsOf: file))
        }
        state.content = content
        return content
    }

    private func listen() -> AsyncStream<Void> {
        let (news, listener) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        listener.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[id] = nil }
        }
        state.withLock { $0.listeners[id] = listener }
        return news
    }
}
