import RepriseCore
import ReprisePhone

extension Step where Session: PhoneSession {
    static var launch: Step { Step { try await $0.launch() } }
    static var settle: Step { Step { try await $0.settle() } }
    /// The app is replaced by one that is started with these arguments.
    static func install(_ arguments: String..., extension more: [String] = []) -> Step {
        Step { session in
            try await session.willKill()
            let isRunning = try await session.phone.app(session.id).process != nil
            try await session.app.install(arguments, extension: more)
            if isRunning { try await session.expect(.terminated) }
        }
    }
    /// The person taps the newest notification.
    static var tap: Step { Step { try await $0.phone.tap(app: $0.id) } }
    /// The person goes to the home screen.
    static var home: Step { Step { try await $0.goHome() } }
    /// SIGKILL.
    static var kill: Step { Step { try await $0.kill() } }
    /// The person removes the app in the app switcher: SIGKILL, and it does not run until opened.
    static var forceQuit: Step {
        Step { session in
            try await session.willKill()
            try await session.phone.forceQuit(session.id)
            try await session.expect(.terminated)
        }
    }
    /// SIGSTOP.
    static var suspend: Step {
        Step { session in
            try await session.phone.suspend(session.id)
            try await session.expect(.suspended)
        }
    }
    /// SIGCONT.
    static var resume: Step {
        Step { session in
            try await session.phone.resume(session.id)
            try await session.expect(.resumed)
        }
    }
    /// The app ends itself, in the middle of its work.
    static var dies: Step { Step { try await $0.expect(.exited) } }
    /// The app has reported it.
    static func reports(_ what: String) -> Step { Step { try await $0.expectReport(what) } }
    /// The condition has come true.
    static func until(
        _ what: String, _ condition: @escaping @Sendable (Session) async throws -> Bool
    ) -> Step {
        Step(what) { session in
            try await session.until(what) { try await condition(session) }
        }
    }
    static var offline: Step { Step { try await $0.phone.offline() } }
    static var online: Step { Step { try await $0.phone.online() } }
    static func advance(by time: Duration) -> Step { Step { try await $0.advance(by: time) } }
    static func advance(toHour hour: Int, minute: Int = 0, in zone: String? = nil) -> Step {
        Step { try await $0.advance(toHour: hour, minute: minute, in: zone) }
    }
}
