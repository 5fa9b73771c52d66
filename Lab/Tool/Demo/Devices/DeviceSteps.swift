import RepriseCommandLine
import RepriseCore

extension Step<DeviceSession> {
    static var startDevices: Step { Step { try await $0.startDevices() } }
    static var killDevices: Step { Step { await $0.killDevices() } }
    static var killServer: Step { Step { try await $0.killServer() } }
    static var rest: Step { Step { try await $0.rest() } }
    static func send(_ count: Int) -> Step { Step { await $0.send(count) } }
    /// All that was published is acknowledged.
    static var isStored: Step { until("everything is stored") { $0.isEverythingStored } }
    static func note(_ what: String) -> Step { Step { try await $0.note(what) } }

    /// The condition has come true.
    static func until(
        _ what: String, within limit: Duration = DeviceSession.timeout,
        _ condition: @escaping @Sendable (isolated DeviceSession) -> Bool
    ) -> Step {
        Step(what) { session in
            guard try await session.isTrue(within: limit, condition) else {
                throw CommandFailure(.incomplete, "not in time.")
            }
        }
    }
}

/// What became of the messages on one device, by the files outside of any journal.
struct DeviceEvidence: Sendable {
    var applied = 0
    /// Handled a second time.
    var again = 0
    var lost = 0
    /// Of the messages that came after the server was killed.
    var live = 0
    /// From its last start until it said, for the last time, that it has everything.
    var complete: Duration?
    /// From its last start until it had everything.
    var caughtUp: Duration?
    var isFrozen = false

    /// Whether it was right when it said so.
    var wasComplete: Bool { complete != nil && lost == 0 }

    var members: ReportObject {
        [
            "applied": applied, "again": again, "lost": lost, "live": live, "frozen": isFrozen,
            "wasComplete": wasComplete,
            "completeMilliseconds": ReportObject.nullable(complete?.milliseconds),
            "caughtUpMilliseconds": ReportObject.nullable(caughtUp?.milliseconds),
        ]
    }
}
