import HTTPTypes
package import Hummingbird
import Logging
import RepriseCore

/// Turns any error of a route into the API's error format.
///
/// Errors other than Reprise's are answered as `internal`, and their text goes to the server's log
/// only. HEAD is answered without a body, errors too: a client would take it for the next answer.
package struct JSONErrors<Context: RequestContext>: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request, context: Context,
        next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = await answer(request, context, next)
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(
        _ request: Request, _ context: Context,
        _ next: @concurrent (Request, Context) async throws -> Response
    ) async -> Response {
        guard HTTPRequest.Method.known.contains(request.method) else {
            return HTTPFailure(
                .notImplemented, "notImplemented", "This server has not heard of this method."
            ).response
        }
        guard Self.isPlain(request.head.path ?? "") else { return Self.nothingHere.response }
        do {
            return try await next(request, context)
        } catch let failure as HTTPFailure {
            return failure.response
        } catch let error as RepriseError {
            return HTTPFailure(error).response
        } catch let error as HTTPError {
            return Self.failure(error).response
        } catch {
            context.logger.error("A route failed.", metadata: ["error": "\(error)"])
            return HTTPFailure(.internalServerError, "internal", "The server failed.").response
        }
    }

    private static var nothingHere: HTTPFailure {
        HTTPFailure(.notFound, "notFound", "There is nothing at this path.")
    }

    /// The router ignores redundant slashes, and a proxy's access rules may not cover all spellings
    /// of a path.
    private static func isPlain(_ target: String) -> Bool {
        let path = target.prefix { $0 != "?" && $0 != "#" }
        return !path.contains("//") && (path.count < 2 || path.last != "/")
    }

    private static func failure(_ error: HTTPError) -> HTTPFailure {
        guard error.status != .notFound else { return nothingHere }
        return HTTPFailure(
            error.status, error.status.code < 500 ? "malformed" : "internal",
            error.body ?? error.status.reasonPhrase, headers: error.headers)
    }
}
