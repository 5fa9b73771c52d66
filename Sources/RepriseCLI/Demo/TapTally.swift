import RepriseCore
import ReprisePhone

/// The state of an app's taps, by the phone's log.
struct TapTally: Sendable {
    /// Taps that no app has returned from.
    private(set) var untaken = 0
    /// Taps without an outcome; they die with their process.
    private(set) var open = 0
    /// How often the living process has reported what.
    private(set) var said: [String: Int] = [:]

    /// Counts.
    ///
    /// - Parameters:
    ///   - log: of one app.
    ///   - ends: the reports by which a tap has come to its end.
    init(_ log: [PhoneEvent], ends: Set<String>) {
        for event in log {
            switch event.what {
            case "tapped": untaken += 1
            case "completed": untaken -= 1
            case "terminated", "exited": (open, said) = (0, [:])
            case "app.created": open += 1
            case let what where ends.contains(what): open -= 1
            default: break
            }
            if event.what.hasPrefix("app.") { said[event.what, default: 0] += 1 }
        }
    }
}

/// Waits for a scenario's conditions; no wait is for a fixed time.
struct DemoTimeout: Sendable {
    /// Timeout after which the demo reports that it is stuck.
    static let most = Duration.seconds(30)

    let app: String
    let log: @Sendable () async throws -> [PhoneEvent]

    /// Returns when `condition` has come true.
    ///
    /// - Throws: ``CommandFailure`` with the log if it has not in time.
    func until(_ what: String, _ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + Self.most
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                let lines = try await log().suffix(60).map { "  \($0.what) \($0.detail)" }
                throw CommandFailure(
                    .incomplete,
                    "The demo got stuck in \(app): not in time: \(what).\n"
                        + lines.joined(separator: "\n"))
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
