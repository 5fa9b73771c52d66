import Foundation
public import RepriseCore

/// A worker's view of its task, and its way to report progress.
public struct WorkContext: Sendable {
    /// The engine's services for a running worker.
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

    /// How long the app may still run; nil: no limit is known.
    ///
    /// At its end the worker's task is cancelled.
    public var remaining: Duration? { hooks.remaining() }

    /// The last position kept by ``checkpoint(_:)``, of any attempt.
    ///
    /// - Parameter type: of the position.
    /// - Returns: nil if none was kept, or if it cannot be decoded as this type.
    public func saved<Position: Decodable>(as type: Position.Type) -> Position? {
        saved.flatMap { try? JSONDecoder().decode(Position.self, from: Data($0)) }
    }

    /// Keeps a position inside the task, from which the next attempt can continue; durable when it
    /// returns.
    ///
    /// - Parameter position: at most 8 KiB as JSON.
    /// - Throws: `RepriseError` `.tooLarge`, `.diskFull`, `.diskFailed`, `.ownershipLost`.
    public func checkpoint(_ position: some Encodable & Sendable) async throws {
        try await hooks.checkpoint(Array(JSONEncoder().encode(position)))
    }

    /// Reports progress, for people; kept at most once a second.
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
