import Foundation
import RepriseCore

/// One attempt at a download.
actor Download {
    private struct AskForAll: Error { let why: String }

    private let input: DownloadWorker.Input
    private let work: WorkContext
    private let part: PartFile
    private let network: GuardedTransport
    /// From where on is asked; nil: all.
    private var asked: DownloadPosition?
    private var validator: String?
    private var total: Int64?
    private var isAnswered = false
    /// How many bytes are kept.
    private var kept: Int64 = 0

    init(
        input: DownloadWorker.Input, work: WorkContext, part: PartFile, network: GuardedTransport,
        position: DownloadPosition?
    ) {
        self.input = input
        self.work = work
        self.part = part
        self.network = network
        asked = position
    }

    /// Requests the rest, or everything if the server cannot resume; then moves the file into
    /// place.
    func run() async throws -> DownloadWorker.Output {
        if let position = asked, !(try await part.begin(at: position.bytes)) { asked = nil }
        do {
            try await fetch()
        } catch let anew as AskForAll {
            await work.log("Begun anew: \(anew.why).")
            asked = nil
            try await fetch()
        }
        return try await finish()
    }

    private func fetch() async throws {
        isAnswered = false
        var headers = input.headers
        headers["Idempotency-Key"] = work.key
        if let asked {
            headers["Range"] = "bytes=\(asked.bytes)-"
            headers["If-Range"] = asked.validator
        }
        let call = HTTPCall(
            url: input.url, headers: headers, timeout: .checked(timeout: input.timeout))
        do {
            try await network.exchange(call, attempt: work.attempt) { head in
                try await self.answered(head)
            } chunk: { bytes in
                try await self.came(bytes)
            }
        } catch let error as AskForAll {
            throw error
        } catch {
            // Received bytes are worth keeping whatever ended it: the network, the budget, the
            // user.
            try? await keep()
            throw error
        }
    }

    private func answered(_ head: HTTPHead) async throws {
        switch try DownloadAnswer.reading(head, from: asked) {
        case .beginAnew(let why): throw AskForAll(why: why)
        case .goesOn(let total):
            validator = asked?.validator
            self.total = total
        case .begins(let validator, let total):
            _ = try await part.begin(at: 0)
            self.validator = validator
            self.total = total
        }
        kept = await part.bytes
        try checkSize(total ?? 0)
        let (folder, rest) = (part.folder, (total ?? 0) - kept)
        try await Blocking.run { try folder.checkRoom(for: rest) }
        isAnswered = true
    }

    private func came(_ bytes: [UInt8]) async throws {
        let size = await part.bytes + Int64(bytes.count)
        try checkSize(size)
        if let total, size > total {
            throw RepriseError(
                .malformed, "The server sends more than the \(total) bytes that it announced.",
                remedy: "Try again; if it stays so, look at the server.")
        }
        try await part.write(bytes)
        guard size - kept >= WorkerLimits.checkpointBytes else { return }
        try await keep()
        let folder = part.folder
        try await Blocking.run { try folder.checkRoom(for: 0) }
        if let total, total > 0 { await work.progress(Double(size) / Double(total)) }
    }

    /// Makes the received bytes durable, and only then keeps the position.
    private func keep() async throws {
        let size = await part.bytes
        guard isAnswered, let validator, size > kept else { return }
        try await part.sync()
        let position = DownloadPosition(validator: validator, bytes: size, total: total)
        try await work.checkpoint(DownloadWorker.Kept(position: position))
        kept = size
    }

    private func checkSize(_ size: Int64) throws {
        guard size > min(input.limit, WorkerLimits.download) else { return }
        throw RepriseError(
            .tooLarge,
            "The content has more than \(min(input.limit, WorkerLimits.download)) bytes.",
            remedy: "Allow more, if you mean it.")
    }

    private func finish() async throws -> DownloadWorker.Output {
        let bytes = await part.bytes
        guard isAnswered, total ?? bytes == bytes else {
            throw RepriseError(
                .malformed, "The server sent \(bytes) bytes and announced \(total ?? 0).",
                remedy: "Try again; if it stays so, look at the server.")
        }
        let digest = await part.digest
        do {
            try SHA256Text.compare(input.sha256, with: digest)
        } catch {
            // The next attempt must not continue from these bytes.
            try await work.checkpoint(DownloadWorker.Kept())
            await part.discard()
            throw error
        }
        let output = DownloadWorker.Output(
            file: input.destination, bytes: bytes, sha256: digest)
        let work = work
        let placed = try await part.finish(output, replacing: input.replaces) {
            try await work.checkpoint(DownloadWorker.Kept(placing: $0))
        }
        await work.progress(1)
        return placed
    }
}
