// Not run by the project's own tests, which run on Linux; compiled only with Network.framework.
#if canImport(Network)
    public import Foundation
    public import RepriseCore
    import Synchronization

    /// Transfers that the system runs outside the app, by a background `URLSession`.
    ///
    /// Make one at launch, always with the same identifier: then the system reports the results of
    /// earlier launches' transfers.
    ///
    /// ```swift
    /// let transfers = try URLSessionTransfers(
    ///     identifier: "com.example.app.chains", folder: folder)
    /// // application(_:handleEventsForBackgroundURLSession:completionHandler:)
    /// transfers.handleEvents(completionHandler)
    /// ```
    ///
    /// Finished files are kept in a folder of the app until they are forgotten: the system removes
    /// its own file when its delegate returns.
    public final class URLSessionTransfers: TransferService {
        private let keeper: TransferKeeper
        private let session: URLSession

        /// Makes the service, and takes the system's transfers.
        ///
        /// - Parameters:
        ///   - identifier: the session's identifier; one service a process for each.
        ///   - folder: the folder of finished files, made if it is absent; nil: that of the
        ///     identifier's name in Application Support.
        /// - Throws: the file system's errors.
        public init(identifier: String, folder: URL? = nil) throws {
            let folder =
                try folder
                ?? FileManager.default.url(
                    for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil,
                    create: true
                ).appendingPathComponent(identifier)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            keeper = TransferKeeper(folder: folder)
            let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
            configuration.sessionSendsLaunchEvents = true
            configuration.isDiscretionary = false
            session = URLSession(
                configuration: configuration, delegate: keeper, delegateQueue: nil)
            Self.services.withLock { $0[identifier] = Held(service: self) }
        }

        /// Starts a transfer; does nothing while the same id is known.
        ///
        /// - Parameter request: the transfer.
        /// - Throws: ``RepriseCore/RepriseError`` `.refused`.
        public func start(_ request: TransferRequest) async throws {
            guard try await !transfers().contains(where: { $0.id == request.id }) else { return }
            guard let url = URL(string: request.url) else {
                throw RepriseError(.refused, "This is not the URL of a resource.")
            }
            var asked = URLRequest(url: url)
            asked.httpMethod = request.method
            asked.allowsExpensiveNetworkAccess = !request.needsUnmetered
            asked.allowsConstrainedNetworkAccess = !request.needsUnmetered
            for (name, value) in request.headers {
                asked.setValue(value, forHTTPHeaderField: name)
            }
            let task: URLSessionTask =
                switch request.direction {
                case .download: session.downloadTask(with: asked)
                case .upload(let file): session.uploadTask(with: asked, fromFile: file)
                }
            task.taskDescription = request.id
            task.resume()
        }

        /// All transfers that the system knows, finished ones included.
        ///
        /// - Returns: in no order.
        public func transfers() async throws -> [Transfer] {
            let running = await session.allTasks.compactMap { task in
                task.taskDescription.map { TransferKeeper.running(task, $0) }
            }
            let done = keeper.records.all
            let names = Set(done.map(\.id))
            return done + running.filter { !names.contains($0.id) }
        }

        /// Cancels a transfer, whose end the system reports later; a finished one stays as it is.
        ///
        /// - Parameter id: the app's name for it.
        /// - Throws: nothing; adapters of other systems may.
        public func cancel(_ id: String) async throws {
            for task in await session.allTasks where task.taskDescription == id { task.cancel() }
        }

        /// The app has taken the result, or gives the transfer up: one that runs is cancelled, and
        /// nothing is reported of it any more.
        ///
        /// - Parameter id: the app's name for it.
        /// - Throws: the file system's errors.
        public func forget(_ id: String) async throws {
            try keeper.records.forget(id, of: await session.allTasks)
        }

        /// Each transfer whose state has changed while the app runs.
        public var changes: AsyncStream<Transfer> { keeper.records.changes.open() }

        // MARK: Events of a background launch

        private static let services = Mutex<[String: Held]>([:])

        private struct Held { weak var service: URLSessionTransfers? }

        /// The service of this process that has an identifier.
        ///
        /// - Parameter identifier: of the session.
        /// - Returns: nil if none was made.
        public static func service(_ identifier: String) -> URLSessionTransfers? {
            services.withLock { $0[identifier]?.service }
        }

        /// Takes the handler that the system wants called once the app has taken all events; it is
        /// called once, after 25 seconds at the latest, of which the events have ``eventsTimeout``.
        ///
        /// ```swift
        /// // application(_:handleEventsForBackgroundURLSession:completionHandler:)
        /// transfers.handleEvents(completionHandler) { await client.transfersEnded() }
        /// ```
        ///
        /// - Parameters:
        ///   - completionHandler: the handler, as UIKit gives it.
        ///   - work: what the app does with the results; the system suspends it after the handler's
        ///     call.
        @MainActor
        public func handleEvents(
            _ completionHandler: @escaping () -> Void,
            then work: @escaping @MainActor () async -> Void = {}
        ) {
            let (end, wake) = (keeper.ends.handlerArrived(), WakeTime())
            Task {
                await wake.run {
                    for await _ in end {}
                    await work()
                }
                completionHandler()
            }
        }

        /// How long the end of the events is waited for: the system may never report it.
        public static let eventsTimeout = TransferEnds.timeout
    }

    extension URLSessionTask: TransferTask {}

    /// The session's delegate: keeps results before the system forgets them.
    private final class TransferKeeper: NSObject, URLSessionDownloadDelegate {
        let ends = TransferEnds()
        let records: TransferRecords

        init(folder: URL) {
            records = TransferRecords(in: folder) { error in
                NSLog("Reprise could not record a transfer: %@", "\(error)")
            }
        }

        static func running(_ task: URLSessionTask, _ id: String) -> Transfer {
            let isUpload = task is URLSessionUploadTask
            let total =
                isUpload
                ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
            return Transfer(
                id: id, state: .running,
                bytes: isUpload ? task.countOfBytesSent : task.countOfBytesReceived,
                total: total > 0 ? total : nil)
        }

        func urlSession(
            _ session: URLSession, downloadTask task: URLSessionDownloadTask,
            didFinishDownloadingTo location: URL
        ) {
            records.downloaded(task, to: location)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
        ) {
            ends.eventArrived()
            records.ended(task) { id in
                var transfer = Self.running(task, id)
                if let error {
                    let isCancelled = (error as? URLError)?.code == .cancelled
                    transfer.state = isCancelled ? .cancelled : .failed("\(error)")
                } else if let head = HTTPHead(task.response) {
                    transfer.state = .finished(head, file: nil)
                } else {
                    transfer.state = .failed("What answers does not speak HTTP.")
                }
                return transfer
            }
        }

        func urlSession(
            _ session: URLSession, downloadTask task: URLSessionDownloadTask,
            didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
            totalBytesExpectedToWrite: Int64
        ) {
            if let id = task.taskDescription { records.changes.send(Self.running(task, id)) }
        }

        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
            ends.eventsEnded()
        }
    }
#endif
