public import Foundation

/// Transfers that the system runs outside the app, shaped after
/// `URLSessionConfiguration.background(withIdentifier:)`.
///
/// A started transfer continues while the app is suspended or dead; at its end the app is launched
/// (`application(_:handleEventsForBackgroundURLSession:completionHandler:)`).
///
/// - SeeAlso: *Downloading files in the background* in Apple's documentation; `docs/phone.md` has
///   the rules and their sources.
public protocol TransferService: Sendable {
    /// Starts a transfer; does nothing while the same id is known.
    ///
    /// - Throws: ``RepriseError`` `.refused` with the system's reason, `.full`, `.unreachable`.
    func start(_ request: TransferRequest) async throws

    /// All transfers that the system knows, finished ones included, until ``forget(_:)``.
    func transfers() async throws -> [Transfer]

    /// Cancels a transfer (`cancel()`), whose end is reported later; a finished one stays as it is.
    func cancel(_ id: String) async throws

    /// The app has taken the result: the system may forget the transfer and the downloaded file.
    ///
    /// One that has not ended is given up: it is cancelled, and nothing is reported of it any more.
    func forget(_ id: String) async throws

    /// Each transfer whose state has changed while the app runs; ends with the task that reads it.
    /// Earlier changes are in ``transfers()``.
    var changes: AsyncStream<Transfer> { get }
}

/// A transfer to start, shaped after `URLSessionDownloadTask` and `URLSessionUploadTask`.
public struct TransferRequest: Hashable, Sendable, Codable, Identifiable {
    /// Download or upload, with the file of an upload.
    public enum Direction: Hashable, Sendable, Codable {
        /// From the server into a file of the system.
        case download
        /// This file to the server.
        case upload(file: URL)
    }

    /// The app's name for it: 1 to 128 bytes.
    public var id: String
    /// Whether the server or the app sends the content.
    public var direction: Direction
    /// `http://` or `https://`.
    public var url: String
    /// As in RFC 9110 §9.
    public var method: String
    /// Names and values.
    public var headers: [String: String]
    /// Not over a metered network (`allowsExpensiveNetworkAccess`).
    public var needsUnmetered: Bool

    /// Makes a request.
    public init(
        id: String, direction: Direction, url: String, method: String = "GET",
        headers: [String: String] = [:], needsUnmetered: Bool = false
    ) {
        self.id = id
        self.direction = direction
        self.url = url
        self.method = method
        self.headers = headers
        self.needsUnmetered = needsUnmetered
    }
}

/// A transfer as the system knows it.
public struct Transfer: Hashable, Sendable, Codable, Identifiable {
    /// The state of a transfer.
    public enum State: Hashable, Sendable, Codable {
        /// Waits for a network, or runs.
        case running
        /// Finished: the server's answer, and for a download the file.
        case finished(HTTPHead, file: URL?)
        /// Ended without an answer: the reason, for people.
        case failed(String)
        /// Cancelled, by the app or because the user has force-quit it.
        case cancelled
    }

    /// The app's name for it.
    public var id: String
    /// Whether it runs or how it ended.
    public var state: State
    /// How many bytes of the content are transferred.
    public var bytes: Int64
    /// The total number of bytes; nil: unknown.
    public var total: Int64?

    /// Describes a transfer, as a platform or a test does.
    public init(id: String, state: State, bytes: Int64 = 0, total: Int64? = nil) {
        self.id = id
        self.state = state
        self.bytes = bytes
        self.total = total
    }
}
