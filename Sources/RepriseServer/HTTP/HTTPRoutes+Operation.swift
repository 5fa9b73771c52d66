import HTTPTypes
import Hummingbird
import NIOCore
import RepriseCore
import RepriseWire

/// The operators' routes.
extension HTTPRoutes {
    /// One buffer for all answers.
    private static let document = ByteBuffer(bytes: PackageResources.openapi_json)

    func addOperation<Context: RequestContext>(to router: Router<Context>) {
        on(.get, "/healthz", in: router, for: .anybody) { _ in
            try Response(["status": "ok"])
        }
        on(.get, "/readyz", in: router, for: .anybody) { _ in
            if let problem = services.problem() { throw HTTPFailure(.unavailable, problem) }
            guard await services.committer.isReady() else {
                throw HTTPFailure(.unavailable, "The log cannot be written, or is shutting down.")
            }
            return try Response(["status": "ready"])
        }
        on(.get, "/openapi.json", in: router, for: .anybody) { _ in
            Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: Self.document))
        }
        on(.get, "/metrics", in: router, for: .anybody) { _ in
            let text = try await services.metrics()
            return Response(json: Array(text.utf8), type: PrometheusText.contentType)
        }
        on(.post, "/v1/backup", in: router, for: .admin) { _ in try await backup() }
    }

    private func backup() async throws -> Response {
        guard let backup = services.backup else {
            throw HTTPFailure(
                .notFound, "notConfigured", "The server was started without a folder for backups.")
        }
        return try Response(["name": try await backup()])
    }
}
