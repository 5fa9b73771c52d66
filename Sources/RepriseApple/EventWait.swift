package import RepriseCore

/// Waits for what one of several events brings, and not each of them.
package enum EventWait {
    /// Looks now, and after each event.
    ///
    /// - Parameters:
    ///   - events: what may bring it; none is missed between a look and the wait if both are on the
    ///     actor of the events. They are ended at the limit.
    ///   - limit: how long is waited.
    ///   - clock: measures it.
    ///   - value: what has come; nil: nothing yet.
    /// - Returns: the value.
    /// - Throws: `CancellationError`; ``RepriseCore/RepriseError`` `.unavailable` where the events
    ///   end without it.
    package static func first<Value>(
        after events: (stream: AsyncStream<Void>, end: AsyncStream<Void>.Continuation),
        within limit: Duration, by clock: any Timekeeper = SystemTimekeeper(),
        _ value: () -> Value?
    ) async throws -> Value {
        if let value = value() { return value }
        let timer = Task { [end = events.end] in
            do { try await clock.sleep(for: limit) } catch { return }
            end.finish()
        }
        defer { timer.cancel() }
        for await _ in events.stream {
            if let value = value() { return value }
        }
        try Task.checkCancellation()
        throw RepriseError(.unavailable, "There is no window for a web view.")
    }
}
