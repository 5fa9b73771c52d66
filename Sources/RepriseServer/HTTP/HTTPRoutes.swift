import Foundation
import HTTPTypes
package import Hummingbird
import RepriseCore
import RepriseWire

/// The HTTP API; `docs/openapi.json` describes each route, and a test verifies it.
///
/// ```swift
/// let router = Router()
/// HTTPRoutes(services).add(to: router)
/// router.refuseOtherMethods()
/// ```
///
/// Every error is `{"error":{"code","message"}}`. Authentication precedes everything else, and
/// authorization precedes reading the body.
package struct HTTPRoutes: Sendable {
    /// The clients that a route is for.
    enum Asking {
        /// Any client, without authentication.
        case anybody
        /// Authenticated clients.
        case known
        case admin
    }

    let services: HTTPServices
    let limits: HTTPLimits

    package init(_ services: HTTPServices, limits: HTTPLimits = HTTPLimits()) {
        self.services = services
        self.limits = limits
    }

    /// Adds the routes, and JSON for every error of this router.
    package func add<Context: RequestContext>(to router: Router<Context>) {
        router.add(middleware: JSONErrors())
        addAccounts(to: router)
        addChannels(to: router)
        addMessages(to: router)
        addPositions(to: router)
        addNotices(to: router)
        addForms(to: router)
        addOperation(to: router)
    }

    /// Adds a route; GET adds HEAD.
    func on<Context: RequestContext>(
        _ method: HTTPRequest.Method, _ path: RouterPath, in router: Router<Context>,
        for asking: Asking = .known,
        use answer: @escaping @Sendable (HTTPRouteCall) async throws -> Response
    ) {
        router.on(path, method: method) { request, context in
            located(try await answer(try await call(request, context, for: asking)))
        }
        guard method == .get else { return }
        router.on(path, method: .head) { request, context in
            let call = try await call(request, context, for: asking)
            return located(try await answer(call).createHeadResponse())
        }
    }

    // MARK: Authentication

    private func call(
        _ request: Request, _ context: some RequestContext, for asking: Asking
    ) async throws -> HTTPRouteCall {
        let who = asking == .anybody ? .nobody : try await principal(of: request)
        if asking == .admin, !who.isAdmin { throw RepriseError.notForThisUser }
        if asking != .anybody, let wait = services.wait(who) {
            throw HTTPFailure.rateLimited(wait)
        }
        if asking != .anybody, [.get, .head].contains(request.method) {
            try await becomeCurrent(for: request)
        }
        return HTTPRouteCall(request: request, parameters: context.parameters, who: who)
    }

    // MARK: Consistency in a cluster

    private static let position = HTTPField.Name("Reprise-Position")

    /// Has this gateway read what any of its cluster has acknowledged before; or what stood before
    /// the answer whose position the caller says; or, with `consistency=local`, what it has.
    private func becomeCurrent(for request: Request) async throws {
        let wanted = try request.parameter("consistency")
        guard wanted == nil || wanted == "local" else {
            throw RepriseError(
                .malformed, "consistency is \"local\", or is left out.")
        }
        let position = try Self.position.flatMap { request.headers[$0] }.map { text in
            guard let position = Int64(text), position >= 0 else {
                throw RepriseError(
                    .malformed, "Reprise-Position is a number from 0.",
                    remedy: "Send what an earlier answer had.")
            }
            return position
        }
        guard let barrier = services.barrier, wanted == nil else { return }
        if let position {
            try await barrier.pass(through: position)
        } else {
            try await barrier.pass()
        }
    }

    /// Says how far the cluster's journal is applied here.
    private func located(_ response: Response) -> Response {
        guard let barrier = services.barrier, let name = Self.position else { return response }
        var response = response
        response.headers[name] = "\(barrier.position)"
        return response
    }

    private func principal(of request: Request) async throws -> Principal {
        guard let authenticator = services.authenticator else { return .open }
        var hasToken = true
        do {
            let token = try Self.token(of: request)
            hasToken = token != nil
            return try await authenticator.principal(of: token)
        } catch let error as RepriseError {
            services.authFailed(error)
            guard error.code == .unauthorized else { throw error }
            throw HTTPFailure(error, hasToken: hasToken)
        }
    }

    /// The token of a request (RFC 6750 §2.1); nil if there is none.
    private static func token(of request: Request) throws -> AccessToken? {
        let fields = request.headers[values: .authorization]
        guard let field = fields.first else { return nil }
        let parts = field.split(separator: " ", omittingEmptySubsequences: true)
        guard fields.count == 1, parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw HTTPFailure(
                RepriseError(.unauthorized, "Send one header `Authorization: Bearer TOKEN`."),
                hasToken: false)
        }
        do {
            return try AccessToken(String(parts[1]))
        } catch let error as RepriseError {
            throw RepriseError.refusedToken(
                "The token is malformed. \(error.message)", remedy: "Send it as it was issued.")
        }
    }

    // MARK: Read access

    /// The grant of a caller with a right.
    ///
    /// In a cluster another gateway may have given it just before: so nobody is refused before this
    /// one knows what was acknowledged by then.
    func grant(
        _ call: HTTPRouteCall, in channel: ChannelName, with right: (Grant) -> Bool
    ) async throws -> Grant {
        let grant = try await services.accounts.grant(call.who, in: channel)
        if right(grant) { return grant }
        guard let barrier = services.barrier else { throw RepriseError.notForThisUser }
        try await barrier.pass()
        let newer = try await services.accounts.grant(call.who, in: channel)
        guard right(newer) else { throw RepriseError.notForThisUser }
        return newer
    }

    /// The grant of a caller who may read.
    func readingGrant(_ call: HTTPRouteCall, in channel: ChannelName) async throws -> Grant {
        try await grant(call, in: channel, with: \.mayRead)
    }
}

extension HTTPRequest.Method {
    /// The methods of RFC 9110 §9.3 and RFC 5789, and QUERY; others are unknown to the server.
    static let known =
        [.get, .head, .post, .put, .patch, .delete, .options, .trace, .connect]
        + ["QUERY"].compactMap { HTTPRequest.Method(rawValue: $0) }
}

extension Router {
    /// Adds a 405 with `Allow` for the methods that a path does not have; call it after all routes
    /// were added.
    package func refuseOtherMethods() {
        var known: [String: (path: RouterPath, methods: [HTTPRequest.Method])] = [:]
        for route in routes {
            known["\(route.path)", default: (route.path, [])].methods.append(route.method)
        }
        let all = HTTPRequest.Method.known
        for (path, methods) in known.values {
            let names = all.filter(methods.contains).map(\.rawValue).joined(separator: ", ")
            for method in all where !methods.contains(method) {
                on(path, method: method) { _, _ -> Response in
                    throw HTTPFailure(
                        .methodNotAllowed, "methodNotAllowed", "This path knows \(names).",
                        headers: [.allow: names])
                }
            }
        }
    }
}
