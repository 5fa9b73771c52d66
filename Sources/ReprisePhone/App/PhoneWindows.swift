import RepriseApple
import RepriseCore
import Synchronization

/// An app's windows on the phone: whether its scene is active, and its window key.
package final class PhoneWindows: Sendable {
    private enum Status { case inBackground, active, key }

    private let rule: PhoneRules.KeyWindow
    private let status: StateBroadcaster<Status>
    private let turn = Mutex(())

    /// - Parameter rule: of the process's launch.
    package init(_ rule: PhoneRules.KeyWindow) {
        self.rule = rule
        status = StateBroadcaster(.inBackground, newest: 1)
    }

    /// Whether a window of the scene in front is key (`keyWindow`).
    package var isKey: Bool { status.value == .key }

    /// A scene is active (`UIScene.didActivateNotification`).
    package func activated() {
        turn.withLock { _ in _ = status.announce(rule == .atActivation ? .key : .active) }
    }

    /// Its window is key (`UIWindow.didBecomeKeyNotification`).
    package func becameKey() {
        turn.withLock { _ in if status.value == .active { status.announce(.key) } }
    }

    /// No scene is in the foreground.
    package func enteredBackground() {
        turn.withLock { _ in _ = status.announce(.inBackground) }
    }

    /// Waits for the key window of the scene in front, as the adapter of UIKit does, by the same
    /// ``EventWait``.
    ///
    /// - Throws: `CancellationError`; ``RepriseCore/RepriseError`` `.unavailable` after
    ///   ``AppleLimits/window``.
    package func key() async throws {
        let (events, event) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let changes = status.watch()
        let relay = Task { for await _ in changes { event.yield() } }
        defer { relay.cancel() }
        try await EventWait.first(after: (events, event), within: AppleLimits.window) {
            isKey ? () : nil
        }
    }
}
