import Foundation
import Reprise
import RepriseCore
import ReprisePhone
import RepriseReminders

/// The screen after a tap: each resolution has its own.
struct GoalsScreen: Sendable {
    let phone: PhoneApp
    /// The time from the dispatch of a tap to its screen.
    let delay: Duration
    /// Whether the process dies when the screen is visible and before it is acknowledged.
    let dies: Bool

    func show(_ tap: RoutedTap) async {
        await phone.report("route", "\(tap.resolution.name) attempt \(tap.attempt): \(tap.reason)")
        if delay > .zero { try? await Task.sleep(for: delay) }
        await phone.report("screen", Self.text(tap.resolution, tap.route))
        if dies { kill(getpid(), SIGKILL) }
        do {
            try await tap.presented()
            await phone.report("presented", tap.id.text)
        } catch {
            await phone.report("failed", "\(error)")
        }
    }

    /// In the words that all apps of the demo use.
    static func text(_ resolution: Resolution, _ route: Route?) -> String {
        let id = route?.id ?? ""
        return switch resolution {
        case .active(let goal, .whole): "dataEntry \(goal.id)"
        case .active(let goal, .part(let question)): "dataEntry \(goal.id)/\(question.id)"
        case .active(let goal, .partGone(let question)):
            "dataEntry \(goal.id), without \(question)"
        case .paused(let goal): "inactiveGoal \(goal.id)"
        case .deleted: "deletedGoal \(id)"
        case .missing: "missingGoal \(id)"
        case .superseded(let goal): "replacedGoal \(id) by \(goal.id)"
        case .malformed(let why): "malformed \(why)"
        }
    }
}
