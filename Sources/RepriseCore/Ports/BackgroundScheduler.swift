/// Asks the system for time in the background, shaped after `BGTaskScheduler`.
///
/// - SeeAlso: `BackgroundTasks` in Apple's documentation; `docs/phone.md` has the rules and their
///   sources.
public protocol BackgroundScheduler: Sendable {
    /// Submits a request, or replaces the one of the same id (`submit(_:)`).
    ///
    /// - Throws: ``RepriseError`` `.full` (`tooManyPendingTaskRequests`: 1 refresh, 10 processing),
    ///   `.refused` (`notPermitted`), `.unavailable`.
    func submit(_ request: BackgroundRequest) async throws

    /// Cancels a request (`cancel(taskRequestWithIdentifier:)`).
    func cancel(_ id: String) async throws

    /// The requests that wait (`getPendingTaskRequests`).
    func pending() async throws -> [BackgroundRequest]
}

/// A request for time in the background, shaped after `BGTaskRequest`.
public struct BackgroundRequest: Hashable, Sendable, Codable, Identifiable {
    /// The kind of background time.
    public enum Kind: Hashable, Sendable, Codable {
        /// A short refresh (`BGAppRefreshTaskRequest`).
        case refresh
        /// Minutes, while the device is idle (`BGProcessingTaskRequest`).
        case processing(needsNetwork: Bool, needsPower: Bool)
    }

    /// The app's name for the task, declared beforehand.
    public var id: String
    /// The kind of background time.
    public var kind: Kind
    /// Not earlier than this; nil: as soon as the system likes (`earliestBeginDate`).
    public var earliest: WallTime?

    /// Makes a request.
    public init(id: String, kind: Kind, earliest: WallTime? = nil) {
        self.id = id
        self.kind = kind
        self.earliest = earliest
    }
}

/// The time that the system grants for a request, shaped after `BGTask`.
public protocol BackgroundSlot: Sendable {
    /// The request's id.
    var id: String { get }
    /// Returns when the system takes the time back (`expirationHandler`): incomplete work soon ends
    /// with the process.
    func expired() async
    /// Reports completion (`setTaskCompleted(success:)`). A second call does nothing.
    func complete(success: Bool) async
}
