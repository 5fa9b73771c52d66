import Foundation
import RepriseCore
import ReprisePhone

/// A phone that scenarios share, one after the other.
struct DemoPhone: Sendable {
    let phone: Phone
    /// The path of this program, which plays every app.
    let program: String
    let clock = LogClock()

    /// Prepares the phone for a scenario; the app is not installed yet.
    ///
    /// The arguments follow `reprise-lab app`.
    func begin<Algorithm>(
        _ scenario: some Scenario, as algorithm: Algorithm, number: Int, _ arguments: [String]
    ) async throws -> PlayedApp<Algorithm> {
        let since = try await phone.status().lastEvent
        try await phone.online()
        try await phone.ask(.rules(scenario.rules))
        return PlayedApp(
            spec: PhoneAppSpec(
                id: "p\(number)-\(scenario.name)", executable: program,
                arguments: ["app"] + arguments),
            phone: phone, algorithm: algorithm, since: since, clock: clock)
    }
}

/// One of a demo's apps, in one scenario.
struct PlayedApp<Algorithm: ScenarioApp>: Sendable {
    var spec: PhoneAppSpec
    let phone: Phone
    let algorithm: Algorithm
    /// The number of the last event before the scenario.
    let since: Int
    let clock: LogClock

    /// The app's name on the phone.
    var id: String { spec.id }

    /// Installs it, or replaces it by one that is started with further arguments.
    func install(_ arguments: [String] = [], extension more: [String] = []) async throws {
        var spec = spec
        spec.arguments += arguments
        spec.extensionArguments = spec.extensionArguments.map { $0 + more }
        try await phone.install(spec)
    }
}

/// The phone's log clock for an outside observer: the machine's clock plus the phone's offset.
final class LogClock: Sendable {
    private let machine = SystemTimekeeper()
    private let offset = Shared(Duration.zero)

    var microseconds: Int64 { Int64((machine.uptime() + offset.value) / .microseconds(1)) }

    func move(by time: Duration) { offset.update { $0 += time } }
}

extension PhoneRules {
    init(launchingTap: LaunchingTap) {
        self.init()
        self.launchingTap = launchingTap
    }

    /// How long an app may run in the background.
    init(backgroundSeconds: Int) {
        self.init()
        self.backgroundSeconds = backgroundSeconds
    }
}

extension Date {
    init(_ time: WallTime) {
        self.init(timeIntervalSince1970: Double(time.milliseconds) / 1_000)
    }
}
