package import Foundation

/// Decides whether the app can present a screen, from the phases of its scenes.
///
/// A scene can while it is active, and stays so while it is inactive, as under the notification
/// centre; not before it was active, and not in the background.
package struct ScenePresence {
    package enum Phase: Hashable, CaseIterable { case active, inactive, background }

    private struct Scene {
        var isForeground = false
        var canPresent = true
    }

    private var scenes: [UUID: Scene] = [:]

    /// No scene is connected.
    package init() {}

    /// Whether any scene can present.
    package var canPresent: Bool { scenes.values.contains { $0.isForeground && $0.canPresent } }

    /// - Parameters:
    ///   - scene: names the scene.
    ///   - phase: its phase.
    ///   - canPresent: whether the app's own navigation is ready in it.
    package mutating func sceneChanged(_ scene: UUID, _ phase: Phase, canPresent: Bool) {
        var state = scenes[scene] ?? Scene()
        state.canPresent = canPresent
        switch phase {
        case .active: state.isForeground = true
        case .inactive: break
        case .background: state.isForeground = false
        }
        scenes[scene] = state
    }

    package mutating func sceneClosed(_ scene: UUID) { scenes[scene] = nil }
}
