import HTTPTypes
package import Hummingbird
import RepriseWire

/// Refuses foreign pages before the router; see ``BrowserRules``.
package struct BrowserGuard<Context: RequestContext>: RouterMiddleware {
    let rules: BrowserRules
    let isSecure: Bool

    package func handle(
        _ request: Request, context: Context,
        next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let isRead = [.get, .head, .options].contains(request.method)
        let refusal = rules.refusal(
            origins: request.headers[values: .origin], host: request.head.authority,
            isSecure: isSecure,
            // A refused handshake arrives here to get its reason.
            mustBeOurs: !isRead || request.uri.path == WireHandshake.path)
        if let refusal { return HTTPFailure(.forbidden, "forbidden", refusal).response }
        return try await next(request, context)
    }
}
