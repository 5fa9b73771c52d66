/// `case-reminder-routing` transcribed: a tap is routed at once, or after the sleeps of its phase
/// 4.
///
/// Quotes are the case study's. Kinder than it: its view is on screen from the first instant, so
/// that no route is missed by `onReceive`, and the route of one tap does not overwrite that of
/// another.
package struct SleepingRouter {
    package enum Version: Hashable, CaseIterable, Sendable {
        /// The flow that is described as the problem.
        case first
        /// All phases of the plan, the unticked ones too.
        case repaired
    }

    /// What a lookup of the entity answered.
    package enum Found: Hashable, Sendable { case active, paused, nothing }

    package enum Screen: String, Hashable, Sendable {
        case dataEntry = "the data entry sheet"
        case inactiveGoal = "\"Goal is Paused\""
        case missingGoal = "\"Goal no longer exists\""
    }

    package enum Action: Hashable, Sendable {
        /// `completionHandler()`: the system will not deliver this tap again.
        case complete(tap: Int)
        case sleep(tap: Int, Duration)
        /// `goal(for: route.goalID)`; answer with ``SleepingRouter/goalLookedUp(tap:found:)``.
        case lookUp(tap: Int)
        /// `try? modelContext.save() // Force sync`.
        case save
        /// `notificationRoute = route`, which presents a sheet.
        case present(tap: Int, Screen)
    }

    private enum Step { case sleptFirst, lookedTwice, presenting }

    private let version: Version
    private var steps: [Int: Step] = [:]

    package init(_ version: Version) { self.version = version }

    /// `userNotificationCenter(didReceive:)`, with a goal id that could be read.
    package mutating func tapped(_ tap: Int) -> [Action] {
        // `defer { completionHandler() }`: the call ends as soon as the route is set.
        switch version {
        case .first:
            steps[tap] = .presenting
            return [.complete(tap: tap), .lookUp(tap: tap)]
        case .repaired:
            steps[tap] = .sleptFirst
            return [.complete(tap: tap), .sleep(tap: tap, .milliseconds(100))]
        }
    }

    package mutating func sleepEnded(tap: Int) -> [Action] {
        guard let step = steps[tap] else { return [] }
        switch step {
        case .sleptFirst: return [.lookUp(tap: tap)]
        case .lookedTwice:
            steps[tap] = .presenting
            return [.lookUp(tap: tap)]  // the sheet's own lookup
        case .presenting: preconditionFailure("driver bug: a tap that is presented does not sleep")
        }
    }

    package mutating func goalLookedUp(tap: Int, found: Found) -> [Action] {
        guard let step = steps[tap] else { return [] }
        switch (step, found) {
        case (.sleptFirst, .nothing):
            steps[tap] = .lookedTwice
            return [.save, .sleep(tap: tap, .milliseconds(50))]
        case (.sleptFirst, .active), (.sleptFirst, .paused), (.presenting, _):
            steps[tap] = nil
            return [.present(tap: tap, screen(for: found))]
        case (.lookedTwice, _): preconditionFailure("driver bug: no lookup was asked for")
        }
    }

    private func screen(for found: Found) -> Screen {
        switch (version, found) {
        case (_, .active): .dataEntry
        // "User sees data entry for an inactive goal", against `InactiveGoalPlaceholder`.
        case (.first, .paused): .dataEntry
        case (.repaired, .paused): .inactiveGoal
        case (_, .nothing): .missingGoal
        }
    }
}
