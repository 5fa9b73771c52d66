import RepriseCore

/// Waits until a condition holds, looking every few milliseconds; throws at a deadline that only a
/// defect reaches.
///
/// ```swift
/// try await waitUntil("the note arrives") { inbox.notes == ["hello"] }
/// ```
///
/// Where there is a stream of the same, as `channel.messages(newest:)`, wait for its value instead.
///
/// - Parameters:
///   - what: what is waited for, for the error.
///   - limit: by the system's clock.
///   - condition: looked at again until it is true.
/// - Throws: ``RepriseCore/RepriseError`` `.timedOut`; `CancellationError`; the condition's errors.
public func waitUntil(
    _ what: String, within limit: Duration = .seconds(20), _ condition: () async throws -> Bool
) async throws {
    guard try await Waiting.isTrue(within: limit, every: .milliseconds(2), condition) else {
        throw RepriseError(.timedOut, "Within \(limit) it did not happen that \(what).")
    }
}
