public import RepriseCore
import Synchronization

/// The system's background scheduler in memory: it gives time when a test says so.
///
/// ```swift
/// let scheduler = MemoryScheduler()
/// configuration.scheduler = scheduler
/// …
/// let slot = try scheduler.grant("org.example.courier.refresh")
/// await client.chains.slot(slot)
/// #expect(slot.completed == [true])
/// ```
///
/// Requests are kept and refused by the documented rules of `BGTaskScheduler`. Power and network,
/// and the 30 seconds of a refresh, are the test's.
public final class MemoryScheduler: BackgroundScheduler {
    private struct State {
        var pending: [BackgroundRequest] = []
        var asked: [BackgroundRequest] = []
        var refusal: RepriseError?
    }

    private let clock: (any Timekeeper)?
    private let declared: Set<String>?
    private let state = Mutex(State())

    /// Makes a scheduler without requests.
    ///
    /// - Parameters:
    ///   - clock: decides whether a request's earliest time has come; nil: it always has.
    ///   - declared: the ids in the app's `Info.plist`; nil: every id.
    public init(clock: (any Timekeeper)? = nil, declared: Set<String>? = nil) {
        self.clock = clock
        self.declared = declared
    }

    // MARK: The system

    /// Every request that was submitted, refused ones too, in order.
    public var asked: [BackgroundRequest] { state.withLock { $0.asked } }

    /// Refuses every request from now on; nil: only by the rules.
    public func refuse(_ error: RepriseError?) { state.withLock { $0.refusal = error } }

    /// Gives time for a request, which is no longer pending then.
    ///
    /// - Parameter id: the request's.
    /// - Returns: the time, for the app's `slot(_:)`.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if none is pending, `.unavailable`
    ///   before its earliest time.
    public func grant(_ id: String) throws -> MemorySlot {
        let now = clock?.wall()
        return try state.withLock { state in
            guard let index = state.pending.firstIndex(where: { $0.id == id }) else {
                throw RepriseError(.noSuchEntry, "The app has not asked for time for \(id).")
            }
            if let now, let earliest = state.pending[index].earliest, earliest > now {
                throw RepriseError(
                    .unavailable, "The app wants it later.", remedy: "Advance the clock.")
            }
            state.pending.remove(at: index)
            return MemorySlot(id)
        }
    }

    // MARK: The app

    /// Keeps a request, in place of one with the same id.
    public func submit(_ request: BackgroundRequest) async throws {
        try state.withLock { state in
            state.asked.append(request)
            if let refusal = state.refusal { throw refusal }
            guard declared?.contains(request.id) ?? true else {
                throw RepriseError(
                    .refused, "The app has not declared the task (notPermitted).",
                    remedy: "Name it in the Info.plist.")
            }
            let pending = state.pending.filter { $0.id != request.id } + [request]
            let refreshes = pending.count { $0.kind == .refresh }
            guard refreshes <= 1, pending.count - refreshes <= 10 else {
                throw RepriseError(
                    .full,
                    "1 refresh and 10 processing requests wait (tooManyPendingTaskRequests).")
            }
            state.pending = pending
        }
    }

    /// Forgets a request.
    public func cancel(_ id: String) async throws {
        state.withLock { $0.pending.removeAll { $0.id == id } }
    }

    /// The requests that wait.
    public func pending() async throws -> [BackgroundRequest] { state.withLock { $0.pending } }
}

/// Time in the background that a test gives and takes back.
public final class MemorySlot: BackgroundSlot {
    /// The request's id.
    public let id: String
    private let end = Signal()
    private let completions = Mutex<[Bool]>([])

    /// Makes a slot that no scheduler was asked for.
    public init(_ id: String) { self.id = id }

    /// With which success it was completed, each time.
    public var completed: [Bool] { completions.withLock { $0 } }

    /// Takes the time back.
    public func expire() { end.raise() }

    /// Returns after ``expire()``, or when it is complete.
    public func expired() async { await end.wait() }

    /// Reports completion.
    public func complete(success: Bool) async {
        completions.withLock { $0.append(success) }
        expire()
    }
}
