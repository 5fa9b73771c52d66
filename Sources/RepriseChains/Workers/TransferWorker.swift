import Foundation
import RepriseCore

/// Transfers a file by the system, so that it continues while the app is suspended or dead.
///
/// The transfer is named after the task's key. Run again after a kill, it is found by that name,
/// running or done, and not started twice; one that was cancelled, as by a force-quit, is started
/// anew. The file is copied into the sandbox as by ``CopyFileWorker``; only then is the transfer
/// forgotten. After a kill between the two the file is recognised in its place, and the transfer is
/// forgotten then.
///
/// The system follows redirects unchecked, and may send the headers there: only the first address
/// is checked. The credentials of ``StandardWorkers`` are asked when a transfer is started. A task
/// that fails for good, is cancelled or ends at a sign-out forgets its transfer, whether it ran or
/// not.
public struct TransferWorker: Worker {
    /// The input of a transfer.
    public struct Input: Codable, Hashable, Sendable {
        /// Which way.
        public enum Direction: Codable, Hashable, Sendable {
            /// From the server into this file.
            case download(to: SandboxPath)
            /// This file to the server.
            case upload(SandboxPath)
        }

        /// Which way.
        public var direction: Direction
        /// `https://` or `http://`.
        public var url: String
        /// As in RFC 9110 §9; nil: GET for a download, PUT for an upload.
        public var method: String?
        /// Names and values, which are written into the journal.
        ///
        /// Tokens belong into the credentials of ``StandardWorkers``.
        public var headers: [String: String]
        /// The SHA-256 that a download must have, as 64 hexadecimal digits.
        public var sha256: String?
        /// Whether an existing file is replaced; else it is an error.
        public var replaces: Bool
        /// Not over a network that is paid for by volume.
        public var needsUnmetered: Bool

        /// Describes a transfer.
        ///
        /// - Parameters:
        ///   - direction: which way.
        ///   - url: `https://` or `http://`.
        ///   - method: as in RFC 9110 §9.
        ///   - headers: names and values.
        ///   - sha256: that a download must have.
        ///   - replaces: whether a file that is there already is replaced.
        ///   - needsUnmetered: not over a network that is paid for by volume.
        public init(
            _ direction: Direction, url: String, method: String? = nil,
            headers: [String: String] = [:], sha256: String? = nil, replaces: Bool = true,
            needsUnmetered: Bool = false
        ) {
            self.direction = direction
            self.url = url
            self.method = method
            self.headers = headers
            self.sha256 = sha256
            self.replaces = replaces
            self.needsUnmetered = needsUnmetered
        }
    }

    /// The output of a transfer.
    public struct Output: Codable, Hashable, Sendable {
        /// The response's status; nil if a kill lost it, and only the file is known.
        public var status: Int?
        /// The downloaded or uploaded file.
        public var file: SandboxPath
        /// The transferred bytes.
        public var bytes: Int64
        /// Of a downloaded file, as 64 hexadecimal digits.
        public var sha256: String?
    }

    /// Kept before the system forgets the transfer.
    struct Done: Codable, Sendable { let done: Output }

    /// `reprise.transfer`.
    public static let identifier = "reprise.transfer"

    let transfers: any TransferService
    let addresses: AddressGuard
    let credentials: Credentials?
    let sandbox: Sandbox
    let clock: any Timekeeper

    /// Starts or finds the transfer, waits for its end, and takes the file over.
    ///
    /// - Parameters:
    ///   - input: the transfer.
    ///   - work: the task.
    /// - Returns: its result.
    /// - Throws: `DispatchFailure`; `RepriseError` `.unreachable` for a transfer that failed or was
    ///   cancelled, `.checksumMismatch`, `.diskFull`.
    public func run(_ input: Input, _ work: WorkContext) async throws -> Output {
        try await WorkerFailure.sorting {
            try SHA256Text.check(input.sha256)
            let watch = TransferWatch(
                id: TransferWatch.id(of: work.key), transfers: transfers, clock: clock)
            if let output = try await done(input, work) {
                try await transfers.forget(watch.id)
                return output
            }
            var known = try await watch.current()
            if known?.state == .cancelled {
                // Not by this attempt: by a force-quit, or by the end of an earlier attempt.
                try await transfers.forget(watch.id)
                known = nil
            }
            if known == nil {
                let request = try await request(input, watch.id, work)
                // Nobody would cancel what begins after a sign-out.
                try Task.checkCancellation()
                try await transfers.start(request)
            }
            let transfer = try await watch.end { share in await work.progress(share * 0.9) }
            return try await takeOver(transfer, input, work)
        }
    }

    /// Forgets the transfer, which ends it, and removes a half-written file.
    ///
    /// - Parameters:
    ///   - input: the task's input.
    ///   - key: of the task.
    public func onAbandon(_ input: Input, key: String) async {
        try? await transfers.forget(TransferWatch.id(of: key))
        guard case .download(let destination) = input.direction else { return }
        await PartFile.discard(destination, in: sandbox, key: key)
    }

    /// The result of an earlier attempt that only lacks its record.
    private func done(_ input: Input, _ work: WorkContext) async throws -> Output? {
        if let done = work.saved(as: Done.self) { return done.done }
        guard case .download(let destination) = input.direction else { return nil }
        let copy = FileCopy(work: work, replaces: input.replaces)
        guard let made = try await copy.placed(destination, in: sandbox) else { return nil }
        return Output(status: nil, file: destination, bytes: made.bytes, sha256: made.sha256)
    }

    private func request(
        _ input: Input, _ id: String, _ work: WorkContext
    ) async throws -> TransferRequest {
        let place = try await addresses.check(input.url).place
        var headers = input.headers
        headers["Idempotency-Key"] = work.key
        headers.merge(try await credentials?(place.origin) ?? [:]) { _, fresh in fresh }
        try GuardedTransport.check(headers)
        let direction: TransferRequest.Direction
        let usual: String
        switch input.direction {
        case .download: (direction, usual) = (.download, "GET")
        case .upload(let file):
            direction = .upload(file: try await UploadSource(file, in: sandbox, work).url)
            usual = "PUT"
        }
        return TransferRequest(
            id: id, direction: direction, url: place.text,
            method: try Method.checked(input.method ?? usual), headers: headers,
            needsUnmetered: input.needsUnmetered)
    }

    private func takeOver(
        _ transfer: Transfer, _ input: Input, _ work: WorkContext
    ) async throws -> Output {
        do {
            let output = try await output(of: transfer, input, work)
            try await work.checkpoint(Done(done: output))
            try await transfers.forget(transfer.id)
            await work.progress(1)
            return output
        } catch {
            // Else the file is good, and available to the next attempt.
            if Self.isOfNoUse(after: error) { try await transfers.forget(transfer.id) }
            throw error
        }
    }

    private static func isOfNoUse(after error: any Error) -> Bool {
        if error is DispatchFailure { return true }
        guard let error = error as? RepriseError else { return false }
        return WorkerFailure.isPermanent(error)
            || [.unreachable, .unavailable, .checksumMismatch].contains(error.code)
    }

    private func output(
        of transfer: Transfer, _ input: Input, _ work: WorkContext
    ) async throws -> Output {
        switch transfer.state {
        case .running, .cancelled:
            throw RepriseError(
                .unreachable, "The transfer was cancelled.", remedy: "It is started again.")
        case .failed(let why):
            throw RepriseError(
                .unreachable, "The transfer failed: \(why.prefix(200)).",
                remedy: "It is started again.")
        case .finished(let head, let file):
            try StatusPolicy.check(head)
            switch input.direction {
            case .upload(let path):
                return Output(status: head.status, file: path, bytes: transfer.bytes)
            case .download(let path):
                return try await keep(file, of: head, at: path, input, work)
            }
        }
    }

    private func keep(
        _ file: URL?, of head: HTTPHead, at path: SandboxPath, _ input: Input, _ work: WorkContext
    ) async throws -> Output {
        guard let file else {
            throw RepriseError(
                .unreachable, "The system has lost the file that came.",
                remedy: "It is fetched again.")
        }
        let source = try await Blocking.run {
            try SandboxFolder(root: file.deletingLastPathComponent().path)
                .reading(file.lastPathComponent)
        }
        let copy = FileCopy(
            work: work, replaces: input.replaces, sha256: input.sha256, progressBefore: 0.9)
        let made = try await copy.run(source, to: path, in: sandbox)
        return Output(status: head.status, file: path, bytes: made.bytes, sha256: made.sha256)
    }
}
