import Foundation
import RepriseCore
import Synchronization

/// One attempt at a transfer: sends the request, follows redirects, and writes the content to a
/// file.
struct TransferAttempt: Sendable {
    /// The phone's services for it.
    struct Surroundings: Sendable {
        let network: @Sendable () async -> PhoneNetwork
        let began: @Sendable (TransferRecord.Part?) async -> Void
        let progress: @Sendable (_ bytes: Int64, _ total: Int64?) async -> Void
    }

    let request: TransferRequest
    /// The growing file of a download.
    let file: URL
    /// The existing part that can be continued.
    let part: TransferRecord.Part?
    /// No download may be larger.
    let room: Int64
    let surroundings: Surroundings

    private struct Elsewhere: Error { let url: String }
    private struct NotTheRest: Error {}

    /// Runs until it is decided; nil if the task is cancelled.
    func run(over transport: any HTTPTransport) async -> TransferRecord.Outcome? {
        do {
            switch request.direction {
            case .download: return try await download(over: transport)
            case .upload(let file): return try await upload(file, over: transport)
            }
        } catch is CancellationError {
            return nil
        } catch is NotTheRest {
            // The next attempt requests everything.
            await surroundings.began(nil)
            return .lost("the server gave something else than the rest")
        } catch {
            return Task.isCancelled ? nil : Self.outcome(of: error)
        }
    }

    private static func outcome(of error: any Error) -> TransferRecord.Outcome {
        guard let error = error as? RepriseError else { return .failed("\(error)") }
        switch error.code {
        case .timedOut: return .timedOut
        case .unreachable, .malformed, .closed: return .lost(error.message)
        default: return .failed(error.message)
        }
    }

    // MARK: Downloads

    private func download(over transport: any HTTPTransport) async throws
        -> TransferRecord.Outcome
    {
        let growing = TransferFile(file)
        let there = part == nil ? 0 : TransferFile.size(file)
        var headers = request.headers
        // A range applies to the stored content.
        headers["accept-encoding"] = "identity"
        if let part, there > 0 {
            headers["range"] = "bytes=\(there)-"
            headers["if-range"] = part.validator
        }
        let answer = Mutex<(head: HTTPHead, total: Int64?)?>(nil)
        do {
            try await exchange(over: transport, headers: headers, body: .none) { head in
                if let coding = head.headers["content-encoding"], coding != "identity" {
                    throw RepriseError(.refused, "the server encodes what was asked for as it is")
                }
                let isRest = try Self.isRest(head, after: there, of: part)
                try await growing.open(keeping: isRest)
                let length = head.headers["content-length"].flatMap { Int64($0) }
                let total = length.map { $0 + (isRest ? there : 0) }
                try check(total ?? 0)
                answer.withLock { $0 = (head, total) }
                await surroundings.began(Self.part(of: head, total: total))
            } chunk: { bytes in
                try await growing.write(bytes)
                let count = await growing.bytes
                try check(count)
                await surroundings.progress(count, answer.withLock { $0?.total })
                try await carry(bytes.count)
            }
        } catch {
            try? await growing.close()
            throw error
        }
        try await growing.finish()
        guard let (head, _) = answer.withLock({ $0 }) else { return .lost("no answer") }
        return .finished(.finished(head, file: file), bytes: await growing.bytes)
    }

    /// Whether the response continues the existing part; throws if it is neither that nor
    /// everything.
    private static func isRest(
        _ head: HTTPHead, after there: Int64, of part: TransferRecord.Part?
    ) throws -> Bool {
        guard there > 0, let part else { return false }
        if head.status == 416 { throw NotTheRest() }
        guard head.status == 206 else { return false }
        // "bytes 500-999/1000"
        let words = (head.headers["content-range"] ?? "").split(whereSeparator: {
            " -/".contains($0)
        })
        guard words.count == 4, words[0].lowercased() == "bytes", Int64(words[1]) == there,
            part.total == nil || words[3] == "*" || Int64(words[3]) == part.total
        else { throw NotTheRest() }
        return true
    }

    private static func part(of head: HTTPHead, total: Int64?) -> TransferRecord.Part? {
        guard (200...299).contains(head.status) else { return nil }
        let tag = head.headers["etag"].flatMap { $0.hasPrefix("\"") ? $0 : nil }
        return (tag ?? head.headers["last-modified"]).map {
            TransferRecord.Part(validator: $0, total: total)
        }
    }

    private func check(_ bytes: Int64) throws {
        guard bytes <= room else {
            throw RepriseError(.diskFull, "there is room for \(room) bytes alone")
        }
        guard bytes <= PhoneLimits.transferBytes else {
            throw RepriseError(.tooLarge, "it has more than \(PhoneLimits.transferBytes) bytes")
        }
    }

    // MARK: Uploads

    private func upload(_ source: URL, over transport: any HTTPTransport) async throws
        -> TransferRecord.Outcome
    {
        guard FileManager.default.isReadableFile(atPath: source.path) else {
            return .failed("the file cannot be read")
        }
        let size = TransferFile.size(source)
        // A transport shows no progress: a slow network delays it before.
        try await carry(Int(size)) { await surroundings.progress($0, size) }
        let answer = Mutex<HTTPHead?>(nil)
        try await exchange(over: transport, headers: request.headers, body: .file(source)) { head in
            answer.withLock { $0 = head }
        } chunk: { _ in
        }
        guard let head = answer.withLock({ $0 }) else { return .lost("no answer") }
        return .finished(.finished(head, file: nil), bytes: size)
    }

    // MARK: The network

    /// Sends the request and follows redirects, as the system always does in the background.
    private func exchange(
        over transport: any HTTPTransport, headers: [String: String], body: HTTPCall.Body,
        head: @escaping @Sendable (HTTPHead) async throws -> Void,
        chunk: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        var call = HTTPCall(
            method: request.method, url: request.url, headers: headers, body: body,
            timeout: .milliseconds(PhoneLimits.transferTimeoutMilliseconds))
        for _ in 0...PhoneLimits.transferRedirects {
            if case .slow(let latency, _) = await surroundings.network() {
                try await Task.sleep(for: .milliseconds(latency))
            }
            let asked = call
            do {
                return try await transport.exchange(asked) { answer in
                    if let url = Self.redirect(answer, from: asked.url) {
                        throw Elsewhere(url: url)
                    }
                    try await head(answer)
                } chunk: {
                    try await chunk($0)
                }
            } catch let elsewhere as Elsewhere {
                call = Self.following(call, to: elsewhere.url)
            }
        }
        throw RepriseError(
            .refused, "the server sends elsewhere more than \(PhoneLimits.transferRedirects) times")
    }

    private static func redirect(_ head: HTTPHead, from url: String) -> String? {
        guard [301, 302, 303, 307, 308].contains(head.status),
            let place = head.headers["location"], let base = URL(string: url),
            let next = URL(string: place, relativeTo: base)?.absoluteURL,
            ["http", "https"].contains(next.scheme?.lowercased() ?? "")
        else { return nil }
        return next.absoluteString
    }

    /// Removes headers that another server must not get.
    private static func following(_ call: HTTPCall, to url: String) -> HTTPCall {
        var next = call
        next.url = url
        let (here, there) = (URL(string: call.url), URL(string: url))
        if here?.host != there?.host || here?.port != there?.port || here?.scheme != there?.scheme {
            next.headers = next.headers.filter {
                !["authorization", "cookie"].contains($0.key.lowercased())
            }
        }
        return next
    }

    /// Waits as long as the network takes for so many bytes, whatever it becomes meanwhile.
    private func carry(
        _ bytes: Int, _ carried: (Int64) async -> Void = { _ in }
    ) async throws {
        var left = Double(bytes)
        while left >= 1 {
            guard case .slow(_, let rate?) = await surroundings.network() else { return }
            let slice = min(left, max(1, Double(rate) / 20))
            try await Task.sleep(for: .seconds(slice / Double(rate)))
            left -= slice
            await carried(Int64(Double(bytes) - left))
        }
    }
}
