import Foundation
import RepriseCore
import Testing

func tap(
    _ request: String, at milliseconds: Int64 = 1, info: String = "{}", category: String = "",
    action: NotificationResponse.Action = .open
) -> NotificationResponse {
    var content = NotificationContent(title: "T", body: "B", info: Array(info.utf8))
    content.category = category
    return NotificationResponse(
        notification: DeliveredNotification(
            request: NotificationRequest(id: request, content: content),
            date: WallTime(milliseconds: milliseconds), isRemote: false), action: action)
}

/// Polls until it is true; generous, because machines are slow and shared.
func comesTrue(
    _ what: String, within limit: Duration = .seconds(20),
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while ContinuousClock.now < end {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("It did not come to be: \(what)", sourceLocation: sourceLocation)
}

/// Returns when it is opened, whatever becomes of the task.
final class Latch: Sendable {
    private let gate = AsyncStream<Void>.makeStream()

    func open() { gate.continuation.finish() }

    func wait() async { await Task { for await _ in gate.stream {} }.value }
}
