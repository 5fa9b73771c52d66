public import Foundation

/// Transfers that the system runs outside the app, shaped after
/// `URLSessionConfiguration.background(withIdentifier:)`.
///
/// What was handed over goes on while the app is suspended or dead, and the app is launched when it
/// is done (`application(_:handleEventsForBackgroundURLSession:completionHandler:)`).
///
/// - SeeAlso: *Downloading files in the background* in Apple's documentation; `docs/phone.md` has
///   the rules and their sources.
public protocol TransferService: Sendable {
    /// Hands a transfer over; the same id again does nothing while it is known.
    ///
    /// - Throws: ``RepriseError`` `.refused` with the system's reason, `.full`, `.unreachable`.
    func start(_ request: TransferRequest) async throws

    /// All that the system knows, those that are done included, until ``forget(_:)``.
    func transfers() async throws -> [Transfer]

    /// Ends a transfer (`cancel()`); one that is done stays as it is.
    func cancel(_ id: String) async throws

    /// The app has taken over what became of it: the system may forget it, and the file that came.
    func forget(_ id: String) async throws

    /// Each transfer whose state has changed while the app runs; ends with the task that reads it.
    /// What changed before is in ``transfers()``.
    var changes: AsyncStream<Transfer> { get }
}

/// What is to be transferred, shaped after `URLSessionDownloadTask` and `URLSessionUploadTask`.
public struct TransferRequest: Hashable, Sendable, Codable, Identifiable {
    /// Which way.
    public enum Direction: Hashable, Sendable, Codable {
        /// From the server into a file of the system's.
        case download
        /// This file to the server.
        case upload(file: URL)
    }

    /// The app's name for it: 1 to 128 bytes.
    public var id: String
    /// Which way.
    public var direction: Direction
    /// `http://` or `https://`.
    public var url: String
    /// As in RFC 9110 §9.
    public var method: String
    /// Names and values.
    public var headers: [String: String]
    /// Not over a network that is paid for by volume (`allowsExpensiveNetworkAccess`).
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
    /// Where it stands.
    public enum State: Hashable, Sendable, Codable {
        /// It waits for a network, or runs.
        case running
        /// It is done: what the server said, and for a download the file.
        case finished(HTTPHead, file: URL?)
        /// It ended without an answer: why, for people.
        case failed(String)
        /// It was cancelled, by the app or because the user has force-quit it.
        case cancelled
    }

    /// The app's name for it.
    public var id: String
    /// Where it stands.
    public var state: State
    /// How many bytes of the content have come or gone.
    public var bytes: Int64
    /// How many there are in all; nil: nobody knows.
    public var total: Int64?

    /// Describes a transfer, as a platform or a test does.
    public init(id: String, state: State, bytes: Int64 = 0, total: Int64? = nil) {
        self.id = id
        self.state = state
        self.bytes = bytes
        self.total = total
    }
}
