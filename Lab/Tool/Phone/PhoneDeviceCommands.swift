import ArgumentParser
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// `reprise-lab phone memory`.
struct PhoneMemoryCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "memory", "Memory is short: suspended apps are terminated.")
    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.memoryPressure) }
}

/// `reprise-lab phone offline`.
struct PhoneOfflineCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of("offline", "The network is gone.")
    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.offline) }
}

/// `reprise-lab phone online`.
struct PhoneOnlineCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "online", "The network is back, and with it stored pushes.")
    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.online) }
}

/// `reprise-lab phone slow`.
struct PhoneSlowCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "slow", "The network is slow.",
        usage: """
            reprise-lab phone slow [--latency TIME] [--rate BYTES]
                                   [--folder DIR] [--json]
            """,
        example: "reprise-lab phone slow --latency 800ms --rate 16000")

    @Option(help: ArgumentHelp("How long each answer waits: 300ms, 2s.", valueName: "time"))
    var latency = TypedDuration(milliseconds: 2_500)
    @Option(
        help: ArgumentHelp("How many bytes come in a second. (default: any)", valueName: "bytes"))
    var rate: Int?
    @OptionGroup var phone: PhoneOption

    func validate() throws {
        guard (0...600_000).contains(latency.milliseconds) else {
            throw ValidationError("--latency is from 0ms to 10m.")
        }
        guard rate.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--rate is at least 1; `reprise-lab phone offline` is 0.")
        }
    }

    func run() async throws {
        try await phone.perform(
            .slow(latencyMilliseconds: Int(latency.milliseconds), bytesPerSecond: rate))
    }
}

/// `reprise-lab phone clock`.
struct PhoneClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock",
        abstract: "Let time pass, or set the calendar or time zone.",
        usage: """
            reprise-lab phone clock [--advance TIME] [--set TIME] [--zone NAME]
                                    [--folder DIR] [--json]
            """,
        discussion: """
            --advance lets time pass at once: notifications and tasks that come due
            meanwhile come. --set moves the calendar alone, forwards or backwards, as a
            person does in Settings.

            EXAMPLES
              reprise-lab phone clock --advance 8h
              reprise-lab phone clock --set=-1d
              reprise-lab phone clock --zone Europe/Berlin

            EXIT CODES
              0 done; 64 no such time; 69 no phone runs there. All: reprise-lab --help
            """)

    @Option(help: ArgumentHelp("Time that passes: 300ms, 90s, 8h, 2d.", valueName: "time"))
    var advance: TypedDuration?
    @Option(help: ArgumentHelp("How far the calendar is set: 1h, -2d.", valueName: "time"))
    var set: TypedDuration?
    @Option(help: ArgumentHelp("The time zone, such as Asia/Tokyo.", valueName: "name"))
    var zone: String?
    @OptionGroup var phone: PhoneOption

    func validate() throws {
        guard [advance != nil, set != nil, zone != nil].filter(\.self).count == 1 else {
            throw ValidationError("Give one of --advance, --set and --zone.")
        }
        guard advance.map({ $0.milliseconds >= 0 }) ?? true else {
            throw ValidationError("Time does not pass backwards; --set sets the calendar back.")
        }
    }

    func run() async throws {
        if let advance {
            try await phone.perform(.advance(milliseconds: advance.milliseconds))
        } else if let set {
            try await phone.perform(.setCalendar(byMilliseconds: set.milliseconds))
        } else if let zone {
            try await phone.perform(.zone(zone))
        }
    }
}

/// `reprise-lab phone shutdown`.
struct PhoneShutdownCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "shutdown", "End all apps and the phone; its folder stays.")
    @OptionGroup var phone: PhoneOption

    func run() async throws {
        try await phone.talk { phone in
            do { try await phone.ask(.shutdown) } catch let error as RepriseError
                where error.code == .closed
            {}
        }
        if phone.json { try StandardOutput.write(#"{"ended":true}"#) }
    }
}

/// A length of time as people type it: 300ms, 90s, 15m, 8h, 2d, with a minus for backwards.
struct TypedDuration: ExpressibleByArgument, Sendable, CustomStringConvertible {
    /// A hundred years; more is a slip of the finger.
    private static let longest: Int64 = 3_153_600_000_000

    let milliseconds: Int64

    init(milliseconds: Int64) { self.milliseconds = milliseconds }

    init?(argument: String) {
        let units: [(String, Int64)] = [
            ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        guard let (unit, scale) = units.first(where: { argument.hasSuffix($0.0) }),
            let count = Double(argument.dropLast(unit.count)), count.isFinite,
            abs(count) * Double(scale) <= Double(Self.longest)
        else { return nil }
        milliseconds = Int64((count * Double(scale)).rounded())
    }

    var description: String {
        milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000)s" : "\(milliseconds)ms"
    }
}
