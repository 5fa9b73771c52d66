package import Foundation
package import Reprise

/// Tells a client whether the app can present a screen, which is the readiness `ui`, and records
/// the links that open the app.
@MainActor
package final class SceneModel {
    private let client: RepriseClient
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var presence = ScenePresence()
    private var links = OpenedLinks()
    private var isDue = false
    private let watches = Watches()
    private var isTelling = false

    package static func of(_ client: RepriseClient) -> SceneModel {
        ModelCache.model(of: client) { SceneModel(client) }
    }

    private init(_ client: RepriseClient) {
        self.client = client
        start = clock.now
        watches.follow(client.states, for: self) { model, _ in model.tell() }
    }

    package func sceneChanged(_ scene: UUID, _ phase: ScenePresence.Phase, canPresent: Bool) {
        presence.sceneChanged(scene, phase, canPresent: canPresent)
        tell()
    }

    package func sceneClosed(_ scene: UUID) {
        presence.sceneClosed(scene)
        tell()
    }

    /// Records a link, once however many report it.
    ///
    /// - Returns: whether it is Reprise's; any other is the app's own.
    @discardableResult
    package func opened(_ url: URL, by route: OpenedLinks.Route) throws -> Bool {
        guard client.owns(url) else { return false }
        guard links.opened(url, by: route, at: start.duration(to: clock.now)) else { return true }
        return try client.open(url)
    }

    /// Says the newest decision, again for each account, and outlives the last scene for that.
    private func tell() {
        isDue = true
        guard !isTelling else { return }
        isTelling = true
        Task {
            while isDue {
                isDue = false
                // A scene opens no journal.
                guard case .open = client.state, let journal = try? await client.journal else {
                    continue
                }
                if presence.canPresent {
                    await journal.setReady(.ui)
                } else {
                    await journal.setNotReady(.ui)
                }
            }
            isTelling = false
        }
    }
}
