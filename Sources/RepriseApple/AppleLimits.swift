package import RepriseCore

/// Limits of the adapters.
package enum AppleLimits {
    /// How long a WebSocket connection may take to open.
    package static let dial = Duration.seconds(15)
    /// How long the end of a failed WebSocket is waited for, which says why.
    package static let end = Duration.seconds(1)
    /// How long a web view waits for a window: so rarely that a replaced page does not rest.
    package static let window = Duration.seconds(60)
}

extension LimitTable {
    /// Printed into `docs/limits/device.md`.
    package static let apple: Self = LimitTable(
        "device", "Apple's systems",
        "",
        [
            Limit(
                "apple.dial", "opening a WebSocket with `URLSessionDialer`", "\(AppleLimits.dial)",
                "`.timedOut`, then backoff"),
            Limit(
                "apple.end", "waiting for the end of a WebSocket whose `receive` has failed",
                "\(AppleLimits.end)", "it ends without a close code"),
            Limit(
                "apple.window", "a web view of forms waits for a key window",
                "\(AppleLimits.window)", "`.unavailable`; another web view waits"),
            Limit(
                "apple.background", "background time that is used; and for closing",
                "\(BackgroundTime.most); \(BackgroundTime.closing)",
                "the client is told, and disconnects"),
        ])
}
