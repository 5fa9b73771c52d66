import HTTPTypes
package import Hummingbird
package import RepriseCore
import RepriseWire

/// `GET /v1/dev/token?user=ada&scope=admin&seconds=3600`: a token for any client on this machine.
///
/// Only on a development server, and only for requests that no foreign page can have made: the
/// server listens on loopback, the request's `Host` is a loopback name, and the browser, if any,
/// does not report another site.
package struct DevelopmentTokenRoute: Sendable {
    package static let path = "/v1/dev/token"

    private let issuer: TokenIssuer
    private let clock: any Timekeeper

    package init(issuer: TokenIssuer, clock: any Timekeeper) {
        self.issuer = issuer
        self.clock = clock
    }

    /// Adds the route.
    package func add<Context: RequestContext>(to router: Router<Context>) {
        let path = RouterPath(Self.path)
        router.get(path) { request, _ in try answer(request) }
        router.head(path) { request, _ in try answer(request).createHeadResponse() }
    }

    private func answer(_ request: Request) throws -> Response {
        try check(request)
        guard let name = try request.parameter("user") else {
            throw RepriseError(.malformed, "Say for whom: \(Self.path)?user=ada.")
        }
        let user = try UserID(name)
        let lifetime = try lifetime(try request.parameter("seconds"))
        let now = clock.wall()
        let isAdmin = try request.parameter("scope")?.split { $0 == " " || $0 == "+" }
            .contains("admin")
        let token = try issuer.token(
            for: user, isAdmin: isAdmin ?? false, now: now, lifetime: lifetime)
        let answer = DevelopmentTokenAnswer(
            token: token.secret, user: user.text,
            expires: now.advanced(by: lifetime).milliseconds)
        return try Response(answer, headers: [.cacheControl: "no-store"])
    }

    private func lifetime(_ text: String?) throws -> Duration {
        let longest = AccessLimits.developmentToken
        guard let text else { return AccessLimits.usualDevelopmentToken }
        guard let seconds = Int64(text), seconds >= 1, .seconds(seconds) <= longest else {
            throw RepriseError(
                .malformed, "seconds is a whole number from 1 to \(longest.components.seconds).")
        }
        return .seconds(seconds)
    }

    private func check(_ request: Request) throws {
        let name = Self.name(request.head.authority ?? "")
        let isSameSite =
            HTTPField.Name("Sec-Fetch-Site")
            .map { request.headers[values: $0].allSatisfy(["same-origin", "none"].contains) }
        let isForeign = request.headers[values: .origin].contains { origin in
            !LoopbackName.isOne(Self.name(origin.drop { $0 != ":" }.drop { ":/".contains($0) }))
        }
        guard LoopbackName.isOne(name), isSameSite ?? true, !isForeign else {
            throw HTTPFailure(
                .forbidden, "forbidden", "Tokens for development stay on this machine.")
        }
    }

    /// The name of `name:port`.
    private static func name(_ authority: some StringProtocol) -> String {
        guard authority.first == "[" else { return String(authority.prefix { $0 != ":" }) }
        return String(authority.prefix { $0 != "]" }) + "]"
    }
}

private struct DevelopmentTokenAnswer: Encodable {
    let token: String
    let user: String
    let expires: Int64
}
