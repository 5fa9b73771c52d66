import Foundation
import RepriseCore

/// Downloads a file, and resumes after a kill, a network failure or in a new slot.
///
/// The content grows in a hidden `.part` file beside its destination. Every 4 MiB it is made
/// durable before its position is kept: so the position never exceeds the bytes on disk. The next
/// attempt requests the rest with `Range` and `If-Range`; a server with another version, or without
/// ranges, sends everything, and the download starts over. When it is complete and its SHA-256 is
/// right, the file is made durable, its identity is kept, and it is renamed into place: a file is
/// there whole or not at all.
///
/// Run again after a kill between the rename and the record, it recognises its own file by that
/// identity, and downloads nothing.
public struct DownloadWorker: Worker {
    /// The input of a download.
    public struct Input: Codable, Hashable, Sendable {
        /// `https://` or `http://`.
        public var url: String
        /// Where the file is afterwards, in the sandbox; complete or absent.
        public var destination: SandboxPath
        /// Names and values; they are written into the journal, so tokens belong into the
        /// credentials of ``StandardWorkers``.
        public var headers: [String: String]
        /// The SHA-256 that the content must have, as 64 hexadecimal digits.
        public var sha256: String?
        /// The most bytes.
        public var limit: Int64
        /// Whether an existing file is replaced; else it is an error.
        public var replaces: Bool
        /// Idle timeout in seconds.
        public var timeout: Double

        /// Describes a download.
        ///
        /// - Parameters:
        ///   - url: `https://` or `http://`.
        ///   - destination: the place of the file.
        ///   - headers: names and values.
        ///   - sha256: the expected digest.
        ///   - limit: the most bytes.
        ///   - replaces: whether an existing file is replaced.
        ///   - timeout: idle timeout in seconds.
        public init(
            url: String, to destination: SandboxPath, headers: [String: String] = [:],
            sha256: String? = nil, limit: Int64 = WorkerLimits.download, replaces: Bool = true,
            timeout: Double = 30
        ) {
            self.url = url
            self.destination = destination
            self.headers = headers
            self.sha256 = sha256
            self.limit = limit
            self.replaces = replaces
            self.timeout = timeout
        }

        private enum CodingKeys: String, CodingKey {
            case url
            case destination
            case headers
            case sha256
            case limit
            case replaces
            case timeout = "patience"
        }
    }

    /// The output of a download.
    public struct Output: Codable, Hashable, Sendable {
        /// Its place.
        public var file: SandboxPath
        /// How many bytes it has.
        public var bytes: Int64
        /// Its SHA-256, as 64 hexadecimal digits.
        public var sha256: String
    }

    /// The checkpoint between attempts.
    struct Kept: Codable, Sendable {
        var position: DownloadPosition?
        var placing: Placing<Output>?
    }

    /// `reprise.download`.
    public static let identifier = "reprise.download"

    let network: GuardedTransport
    let sandbox: Sandbox

    /// Downloads the file.
    ///
    /// - Parameters:
    ///   - input: URL and destination.
    ///   - work: the task.
    /// - Returns: the file.
    /// - Throws: `DispatchFailure`; `RepriseError` `.checksumMismatch`, `.diskFull`, `.malformed`,
    ///   and the transport's errors.
    public func run(_ input: Input, _ work: WorkContext) async throws -> Output {
        try await WorkerFailure.sorting {
            try SHA256Text.check(input.sha256)
            let kept = work.saved(as: Kept.self)
            if let placing = kept?.placing,
                try await placing.isDone(input.destination, in: sandbox, key: work.key)
            {
                return placing.output
            }
            let part = try await PartFile.open(
                input.destination, in: sandbox, key: work.key, replacing: input.replaces)
            if let output = try await part.finish(kept?.placing, replacing: input.replaces) {
                return output
            }
            do {
                let download = Download(
                    input: input, work: work, part: part, network: network,
                    position: kept?.position)
                return try await download.run()
            } catch let error as DispatchFailure where error.advice == .permanent {
                await part.discard()
                throw error
            } catch let error as RepriseError where WorkerFailure.isPermanent(error) {
                await part.discard()
                throw error
            }
        }
    }

    /// Removes the half-written file.
    ///
    /// - Parameters:
    ///   - input: the task's input.
    ///   - key: of the task.
    public func onAbandon(_ input: Input, key: String) async {
        await PartFile.discard(input.destination, in: sandbox, key: key)
    }
}

/// The checksum that an input names.
enum SHA256Text {
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    static func check(_ text: String?) throws {
        guard let text else { return }
        let digits = Set("0123456789abcdefABCDEF".utf8)
        guard text.utf8.count == 64, text.utf8.allSatisfy(digits.contains) else {
            throw RepriseError(
                .badConfiguration,
                "This is no SHA-256: \(String(reflecting: String(text.prefix(80)))).",
                remedy: "It has 64 hexadecimal digits.")
        }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.checksumMismatch`.
    static func compare(_ wanted: String?, with digest: String) throws {
        guard let wanted, wanted.lowercased() != digest else { return }
        throw RepriseError(
            .checksumMismatch, "The content has the SHA-256 \(digest), not \(wanted).",
            remedy: "It is fetched again from the first byte; if it stays so, look at the source.")
    }
}
