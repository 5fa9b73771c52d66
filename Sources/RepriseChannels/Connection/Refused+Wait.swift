import RepriseWire

extension ServerFrame.Refused {
    /// The longest wait that a server may ask for: the outbox keeps it over restarts.
    static let longestWait: Duration = .seconds(3_600)

    /// How long to wait before the retry that it allows.
    var wait: Duration { min(retryAfter ?? .zero, Self.longestWait) }
}
