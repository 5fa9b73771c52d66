public import Foundation
import RepriseCore
import Synchronization

/// Uploads a file as a stream of known length.
///
/// Run again after a kill, it sends the same bytes with the same `Idempotency-Key`: a server that
/// stores these keys accepts them once. The file's identity, size and modification time are kept
/// before the first byte is sent: if the file has changed at a later attempt, the task ends with an
/// error, so the same key never goes with other bytes.
///
/// Statuses mean the same as for ``HTTPRequestWorker``.
public struct UploadWorker: Worker {
    /// The input of an upload.
    public struct Input: Codable, Hashable, Sendable {
        /// `POST`, `PUT` or `PATCH`.
        public var method: String
        /// `https://` or `http://`.
        public var url: String
        /// Which file.
        public var file: SandboxPath
        /// Names and values; they are written into the journal, so tokens belong into the
        /// credentials of ``StandardWorkers``.
        public var headers: [String: String]
        /// Statuses that are as good as 2xx.
        public var accepted: Set<Int>
        /// Idle timeout in seconds.
        public var timeout: Double

        /// Describes an upload.
        ///
        /// - Parameters:
        ///   - file: the file.
        ///   - url: `https://` or `http://`.
        ///   - method: `POST`, `PUT` or `PATCH`.
        ///   - headers: names and values.
        ///   - accepted: statuses that succeed like 2xx.
        ///   - timeout: idle timeout in seconds.
        public init(
            _ file: SandboxPath, to url: String, method: String = "PUT",
            headers: [String: String] = [:], accepted: Set<Int> = [], timeout: Double = 30
        ) {
            self.file = file
            self.url = url
            self.method = method
            self.headers = headers
            self.accepted = accepted
            self.timeout = timeout
        }

        private enum CodingKeys: String, CodingKey {
            case method
            case url
            case file
            case headers
            case accepted
            case timeout = "patience"
        }
    }

    /// The server's response.
    public struct Output: Codable, Hashable, Sendable {
        /// As in RFC 9110 §15.
        public var status: Int
        /// By their names in lower case.
        public var headers: [String: String]
        /// All of it: at most 1 MiB.
        public var body: Data
        /// How many bytes were sent.
        public var bytes: Int64
    }

    /// `reprise.upload`.
    public static let identifier = "reprise.upload"

    let network: GuardedTransport
    let sandbox: Sandbox

    /// Uploads the file.
    ///
    /// - Parameters:
    ///   - input: file and URL.
    ///   - work: the task.
    /// - Returns: the response.
    /// - Throws: `DispatchFailure`; the transport's `RepriseError`.
    public func run(_ input: Input, _ work: WorkContext) async throws -> Output {
        try await WorkerFailure.sorting {
            let method = try Method.checked(input.method)
            guard ["POST", "PUT", "PATCH"].contains(method) else {
                throw RepriseError(
                    .badConfiguration, "A file does not go with \(method).",
                    remedy: "It goes with PUT, POST or PATCH.")
            }
            let source = try await UploadSource(input.file, in: sandbox, work)
            var headers = input.headers
            headers["Idempotency-Key"] = work.key
            let call = HTTPCall(
                method: method, url: input.url, headers: headers, body: .file(source.opened),
                timeout: .checked(timeout: input.timeout))
            let received = Received(limit: WorkerLimits.answer)
            let gone = UploadProgress(of: source.facts.size, work)
            try await network.exchange(
                call, attempt: work.attempt, sent: { await gone.told($0) }
            ) { head in
                try StatusPolicy.check(head, accepted: input.accepted)
                received.begin(head)
            } chunk: {
                try received.append($0)
            }
            await work.progress(1)
            let (head, body) = try received.answer()
            return withExtendedLifetime(source) {
                Output(
                    status: head.status, headers: head.headers, body: Data(body),
                    bytes: source.facts.size)
            }
        }
    }
}

/// The file that is sent, the same one at each attempt.
struct UploadSource {
    /// Its URL, for a system that opens it later.
    let url: URL
    let facts: FileFacts
    /// Kept open, so that its path cannot be replaced by a link.
    private let folder: SandboxFolder
    private let name: String

    init(_ path: SandboxPath, in sandbox: Sandbox, _ work: WorkContext) async throws {
        let (folder, name, facts) = try await Blocking.run {
            let (folder, name) = try sandbox.folder(of: path)
            return (folder, name, try folder.reading(name).facts())
        }
        if let before = work.saved(as: FileFacts.self) {
            guard facts.isUnchanged(since: before) else {
                throw DispatchFailure.permanent(
                    "fileChanged: \(path) is not the file any more of which a part may have been sent."
                )
            }
        } else {
            try await work.checkpoint(facts)
        }
        guard let root = sandbox.roots[path.root] else {
            throw RepriseError(.noSuchFile, "There is no \(path).", remedy: "Look at the path.")
        }
        url = root.appendingPathComponent(path.path)
        (self.folder, self.name, self.facts) = (folder, name, facts)
    }

    /// A path through the checked folder's descriptor; only Linux has such paths.
    var opened: URL { folder.place(of: name) ?? url }
}

/// Reports the progress of an upload, at most a hundred times.
private final class UploadProgress: Sendable {
    private let size: Int64
    private let work: WorkContext
    private let last = Mutex<Int64>(0)

    init(of size: Int64, _ work: WorkContext) { (self.size, self.work) = (size, work) }

    /// A redirect restarts the upload; reported progress never decreases.
    func told(_ count: Int64) async {
        let isNews = last.withLock { last in
            guard count - last >= max(size / 100, 1) else { return false }
            last = count
            return true
        }
        // Done only after the server's response.
        if isNews { await work.progress(0.99 * Double(count) / Double(max(size, 1))) }
    }
}
