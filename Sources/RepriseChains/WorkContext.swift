import Foundation
public import RepriseCore

/// What a worker knows about the task it does, and what it can say about it.
public struct WorkContext: Sendable {
    /// What the engine does for a worker that runs.
    package struct Hooks: Sendable {
        package var progress: @Sendable (_ fraction: Double, _ note: String?) async -> Void
        package var checkpoint: @Sendable (_ json: [UInt8]) async throws -> Void
        package var log: @Sendable (_ line: String) async -> Void
        package var remaining: @Sendable () -> Duration?

        package init(
            progress: @escaping @Sendable (Double, String?) async -> Void = { _, _ in },
            checkpoint: @escaping @Sendable ([UInt8]) async throws -> Void = { _ in },
            log: @escaping @Sendable (String) async -> Void = { _ in },
            remaining: @escaping @Sendable () -> Duration? = { nil }
        ) {
            self.progress = progress
            self.checkpoint = checkpoint
            self.log = log
            self.remaining = remaining
        }
    }

    /// The same for every attempt at this task, whatever was killed in between: give it to a
    /// service that takes an idempotency key, or store it with the effect.
    public let key: String
    /// Which try this is; the first is 1.
    public let attempt: Int
    /// When the task or its chain is late and given up.
    public let deadline: WallTime?
    private let saved: [UInt8]?
    private let hooks: Hooks

    package init(
        key: String, attempt: Int = 1, deadline: WallTime? = nil, saved: [UInt8]? = nil,
        hooks: Hooks = Hooks()
    ) {
        self.key = key
        self.attempt = attempt
        self.deadline = deadline
        self.saved = saved
        self.hooks = hooks
    }

    /// How long the system lets the app run still; nil: it has named no end.
    ///
    /// When it is over, the worker's task is cancelled.
    public var remaining: Duration? { hooks.remaining() }

    /// The position that ``checkpoint(_:)`` kept last, of any attempt.
    ///
    /// - Parameter type: what was kept.
    /// - Returns: nil if nothing was, or if it cannot be read as that any more.
    public func saved<Position: Decodable>(as type: Position.Type) -> Position? {
        saved.flatMap { try? JSONDecoder().decode(Position.self, from: Data($0)) }
    }

    /// Keeps a position inside the task, so that the next attempt can go on from there; durable
    /// when it returns.
    ///
    /// - Parameter position: at most 8 KiB as JSON.
    /// - Throws: `RepriseError` `.tooLarge`, `.diskFull`, `.diskFailed`, `.ownershipLost`.
    public func checkpoint(_ position: some Encodable & Sendable) async throws {
        try await hooks.checkpoint(Array(JSONEncoder().encode(position)))
    }

    /// Says how far it is, for people; kept at most once a second.
    ///
    /// - Parameters:
    ///   - fraction: 0 to 1.
    ///   - note: at most 256 bytes.
    public func progress(_ fraction: Double, _ note: String? = nil) async {
        await hooks.progress(fraction, note)
    }

    /// Writes a line into the chain's log, which `reprise chains show` prints: at most 512 bytes,
    /// the newest 100 of a chain are kept.
    public func log(_ line: String) async { await hooks.log(line) }
}
