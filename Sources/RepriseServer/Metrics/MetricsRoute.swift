import HTTPTypes
package import Hummingbird
import NIOCore

/// `GET /metrics`: what the server counts, for Prometheus.
package struct MetricsRoute: Sendable {
    private let metrics: ServerMetrics

    package init(metrics: ServerMetrics) { self.metrics = metrics }

    package func add(to router: Router<some RequestContext>) {
        let metrics = metrics
        router.get("metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: PrometheusText.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text())))
        }
    }
}
