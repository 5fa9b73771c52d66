// Not run by the project's own tests, which run on Linux; compiled only with BackgroundTasks.
#if canImport(BackgroundTasks) && canImport(UIKit)
    import BackgroundTasks
    import Foundation
    public import RepriseCore
    import Synchronization

    /// The system's scheduler of background work, `BGTaskScheduler`.
    ///
    /// ```swift
    /// // before the app has finished launching
    /// SystemBackgroundScheduler.register("app.refresh") { slot in
    ///     await slot.complete(success: true)
    /// }
    /// let request = BackgroundRequest(id: "app.refresh", kind: .refresh)
    /// try await SystemBackgroundScheduler().submit(request)
    /// ```
    public struct SystemBackgroundScheduler: BackgroundScheduler {
        /// Makes one.
        public init() {}

        private static let registrations = Mutex(BackgroundRegistrations())

        /// Registers the handler for requests of an id, before the app has finished launching.
        ///
        /// - Parameters:
        ///   - id: the id of the requests; it is in `BGTaskSchedulerPermittedIdentifiers`, too.
        ///   - body: uses the time, and completes the slot.
        /// - Returns: false if the id is not permitted, was registered before, or comes too late:
        ///   the system's log says which, where the system would end the app.
        @discardableResult
        public static func register(
            _ id: String, _ body: @escaping @Sendable (any BackgroundSlot) async -> Void
        ) -> Bool {
            let permitted = Bundle.main.object(
                forInfoDictionaryKey: "BGTaskSchedulerPermittedIdentifiers")
            do {
                try registrations.withLock {
                    try $0.register(id, permitted: permitted as? [String] ?? [])
                }
            } catch {
                NSLog("Reprise: %@", "\(error)")
                return false
            }
            return BGTaskScheduler.shared.register(forTaskWithIdentifier: id, using: nil) { task in
                let slot = Slot(task)
                Task { await body(slot) }
            }
        }

        /// The app has finished launching: a later registration is refused.
        package static func launched() { registrations.withLock { $0.launched() } }

        /// Submits a request, or replaces the one of the same id.
        ///
        /// - Parameter request: its kind and earliest moment.
        /// - Throws: ``RepriseCore/RepriseError`` `.full`, `.refused`, `.unavailable`.
        public func submit(_ request: BackgroundRequest) async throws {
            do {
                try BGTaskScheduler.shared.submit(Self.system(request))
            } catch let error as BGTaskScheduler.Error {
                let code: RepriseError.Code =
                    switch error.code {
                    case .tooManyPendingTaskRequests: .full
                    case .notPermitted: .refused
                    default: .unavailable
                    }
                throw RepriseError(
                    code, "The scheduler takes no request \(request.id).", cause: error)
            }
        }

        /// Cancels a request.
        public func cancel(_ id: String) async throws {
            BGTaskScheduler.shared.cancel(taskRequestWithIdentifier: id)
        }

        /// The requests that wait.
        public func pending() async throws -> [BackgroundRequest] {
            await withCheckedContinuation { continuation in
                BGTaskScheduler.shared.getPendingTaskRequests { requests in
                    continuation.resume(returning: requests.map(Self.request))
                }
            }
        }

        private static func system(_ request: BackgroundRequest) -> BGTaskRequest {
            let made: BGTaskRequest
            switch request.kind {
            case .refresh: made = BGAppRefreshTaskRequest(identifier: request.id)
            case .processing(let needsNetwork, let needsPower):
                let processing = BGProcessingTaskRequest(identifier: request.id)
                processing.requiresNetworkConnectivity = needsNetwork
                processing.requiresExternalPower = needsPower
                made = processing
            }
            made.earliestBeginDate = request.earliest.map {
                Date(timeIntervalSince1970: Double($0.milliseconds) / 1_000)
            }
            return made
        }

        private static func request(_ request: BGTaskRequest) -> BackgroundRequest {
            let kind: BackgroundRequest.Kind =
                (request as? BGProcessingTaskRequest).map {
                    .processing(
                        needsNetwork: $0.requiresNetworkConnectivity,
                        needsPower: $0.requiresExternalPower)
                } ?? .refresh
            return BackgroundRequest(
                id: request.identifier, kind: kind,
                earliest: request.earliestBeginDate.map {
                    WallTime(milliseconds: Int64($0.timeIntervalSince1970 * 1_000))
                })
        }

        /// `@unchecked Sendable`: `BGTask` may be completed on any thread, and `state` ensures that
        /// it is completed once.
        private final class Slot: BackgroundSlot, @unchecked Sendable {
            let id: String
            private let task: BGTask
            private let isComplete = Mutex(false)
            private let expiry: AsyncStream<Void>

            init(_ task: BGTask) {
                (self.task, id) = (task, task.identifier)
                let (expiry, continuation) = AsyncStream.makeStream(
                    of: Void.self, bufferingPolicy: .bufferingNewest(1))
                self.expiry = expiry
                task.expirationHandler = { continuation.finish() }
            }

            func expired() async { for await _ in expiry {} }

            func complete(success: Bool) async {
                let isFirst = isComplete.withLock { isComplete in
                    defer { isComplete = true }
                    return !isComplete
                }
                if isFirst { task.setTaskCompleted(success: success) }
            }
        }
    }
#endif
