package import RepriseCore

extension LimitTable {
    /// Printed into `docs/limits/device.md`.
    package static let network: Self = LimitTable(
        "device", "Sockets (SwiftNIO)",
        "",
        [
            Limit(
                "network.received", "received bytes that were not read yet",
                "\(bytes: Inbox.bound)", "the socket is not read"),
            Limit(
                "network.dial", "dialling", "\(NIODialer.timeout) (settable)",
                "`.timedOut`, then backoff"),
            Limit(
                "network.fetch", "fetching a resource; redirects on the same server",
                """
                \(HTTPAnswer.timeout) from connecting to the last byte (settable); \
                \(HTTPAnswer.redirects)
                """,
                "`.timedOut`; the redirect is the answer"),
            Limit(
                "network.head", "the head of an HTTP answer", "\(verbatim: "80 KiB")",
                "`malformed`, retried"),
        ])
}
