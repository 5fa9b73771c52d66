import RepriseCore

/// Sends requests to checked addresses, follows checked redirects, and sends credentials to the
/// original origin only.
struct GuardedTransport: Sendable {
    /// Ends an exchange whose answer leads elsewhere.
    private struct SentElsewhere: Error {
        let status: Int
        let location: String
    }

    /// Headers that only the original origin gets.
    private static let secrets: Set<String> = ["authorization", "cookie", "proxy-authorization"]

    let transport: any HTTPTransport
    let addresses: AddressGuard
    var credentials: Credentials?

    /// Sends a request; `head` and `chunk` get the response after all redirects.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` as ``RepriseCore/HTTPTransport``, and
    ///   `.addressRefused`, `.refused`.
    func exchange(
        _ call: HTTPCall, attempt: Int,
        sent: @escaping @Sendable (Int64) async -> Void = { _ in },
        head: @escaping @Sendable (HTTPHead) async throws -> Void,
        chunk: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        var (call, target) = (call, try await addresses.check(call.url))
        let fresh = try await credentials?(target.place.origin) ?? [:]
        call.headers.merge(fresh) { _, fresh in fresh }
        let secrets = Self.secrets.union(fresh.keys.map { $0.lowercased() })
        try Self.check(call.headers)
        for _ in 0...WorkerLimits.redirects {
            call.url = target.place.text
            call.address = target.address(attempt: attempt)
            do {
                return try await transport.exchange(
                    call, sent: sent, head: { try await Self.pass($0, to: head) }, chunk: chunk)
            } catch let sent as SentElsewhere {
                target = try await follow(sent, &call, from: target.place, secrets)
            }
        }
        throw RepriseError(
            .refused, "\(target.place.origin) sends from one place to the next.",
            remedy: "Name the last place; \(WorkerLimits.redirects) redirects are followed.")
    }

    private static func pass(
        _ answer: HTTPHead, to head: @Sendable (HTTPHead) async throws -> Void
    ) async throws {
        if [301, 302, 303, 307, 308].contains(answer.status),
            let location = answer.headers["location"]
        {
            throw SentElsewhere(status: answer.status, location: location)
        }
        // URLSession may have decoded it already, and then the length does not tell whether all of
        // it came.
        if let encoding = answer.headers["content-encoding"], encoding.lowercased() != "identity",
            (200..<300).contains(answer.status)
        {
            throw RepriseError(
                .malformed,
                "The answer is encoded as \(encoding.prefix(40)), which was not asked for.",
                remedy: "Try again; if it stays so, look at the server.")
        }
        try await head(answer)
    }

    private func follow(
        _ sent: SentElsewhere, _ call: inout HTTPCall, from place: WebAddress,
        _ secrets: Set<String>
    ) async throws -> CheckedAddress {
        let next = try place.following(sent.location)
        guard next.isSecure || !place.isSecure else {
            throw RepriseError(
                .addressRefused, "\(place.origin) sends to \(next.origin), which is not encrypted.",
                remedy: "Ask that place itself, if you mean it.")
        }
        if !["GET", "HEAD"].contains(call.method) {
            switch sent.status {
            case 303: (call.method, call.body) = ("GET", .none)
            case 307, 308: break
            default:
                throw RepriseError(
                    .refused, "\(place.origin) moves a \(call.method) with status \(sent.status).",
                    remedy: "Ask the new place itself: what was asked would not arrive there.")
            }
        }
        if next.origin != place.origin {
            call.headers = call.headers.filter { !secrets.contains($0.key.lowercased()) }
        }
        return try await addresses.check(next)
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    static func check(_ headers: [String: String]) throws {
        let names = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        let ours: Set<String> = ["host", "content-length", "transfer-encoding", "connection"]
        for (name, value) in headers {
            guard !name.isEmpty, name.lowercased().utf8.allSatisfy(names.contains),
                value.utf8.allSatisfy({ $0 == 9 || ($0 >= 0x20 && $0 != 0x7f) }),
                !ours.contains(name.lowercased())
            else {
                throw RepriseError(
                    .badConfiguration, "This header cannot be sent: \(String(reflecting: name)).",
                    remedy: "Host, length and connection are ours; values hold no line's end.")
            }
        }
    }
}

/// Gives authentication headers, fresh for each attempt, so that no token is written into a chain's
/// input.
///
/// Its argument is the origin of the first request (`https://example.org`); a redirect to another
/// origin does not get them, unless the system follows it, for a ``TransferWorker``.
public typealias Credentials =
    @Sendable (_ origin: String) async throws -> [String: String]
