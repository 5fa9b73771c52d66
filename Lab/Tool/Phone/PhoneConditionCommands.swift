import ArgumentParser
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// `reprise-lab phone power`.
struct PhonePowerCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "power", "The phone is plugged in, or not.",
        usage: "reprise-lab phone power plugged|unplugged [--folder DIR] [--json]",
        example: "reprise-lab phone power unplugged")

    enum Power: String, ExpressibleByArgument, CaseIterable { case plugged, unplugged }

    @Argument(help: ArgumentHelp("plugged or unplugged.", valueName: "state")) var power: Power
    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.power(isPluggedIn: power == .plugged)) }
}

/// On or off, as an argument.
enum PhoneSwitch: String, ExpressibleByArgument, CaseIterable { case on, off }

/// `reprise-lab phone low-power`.
struct PhoneLowPowerCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "low-power", "Low Power Mode is on, or off.",
        usage: "reprise-lab phone low-power on|off [--folder DIR] [--json]",
        example: "reprise-lab phone low-power on")

    @Argument(help: ArgumentHelp("on or off.", valueName: "state")) var state: PhoneSwitch
    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.lowPower(state == .on)) }
}

/// `reprise-lab phone focus`.
struct PhoneFocusCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "focus", "A Focus is on, or off: it keeps ordinary banners away.",
        usage: "reprise-lab phone focus on|off [--folder DIR] [--json]",
        example: "reprise-lab phone focus on")

    @Argument(help: ArgumentHelp("on or off.", valueName: "state")) var state: PhoneSwitch
    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.focus(state == .on)) }
}

/// `reprise-lab phone restart`.
struct PhoneRestartCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "restart", "The device restarts, and waits for its first unlock.")

    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.restart) }
}

/// `reprise-lab phone unlock`.
struct PhoneUnlockCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "unlock", "The person unlocks the device after its start.")

    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.unlock) }
}

/// `reprise-lab phone network`.
struct PhoneNetworkCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "network", "The network is paid for by volume, or not.",
        usage: "reprise-lab phone network metered|unmetered [--folder DIR] [--json]",
        example: "reprise-lab phone network metered")

    enum Price: String, ExpressibleByArgument, CaseIterable { case metered, unmetered }

    @Argument(help: ArgumentHelp("metered or unmetered.", valueName: "price")) var price: Price
    @OptionGroup var phone: PhoneOption
    func run() async throws { try await phone.perform(.metered(price == .metered)) }
}

/// `reprise-lab phone storage`.
struct PhoneStorageCommand: AsyncParsableCommand {
    static let configuration = PhoneHelp.of(
        "storage", "Set the free space; `real` is this machine's.",
        usage: "reprise-lab phone storage BYTES|real [--folder DIR] [--json]",
        example: "reprise-lab phone storage 50000000")

    @Argument(help: ArgumentHelp("Bytes, or real.", valueName: "bytes")) var room: String
    @OptionGroup var phone: PhoneOption

    private var bytes: Int64? { Int64(room) }

    func validate() throws {
        guard room == "real" || bytes.map({ $0 >= 0 }) == true else {
            throw ValidationError("Give a number of bytes from 0, or real.")
        }
    }

    func run() async throws { try await phone.perform(.storage(bytes: bytes)) }
}

/// `reprise-lab phone transfers`: lists the transfers of the phone's apps.
struct PhoneTransfersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfers",
        abstract: "Show the phone's downloads and uploads.",
        discussion: """
            A transfer goes on while its app is suspended or dead; when all of an app are
            done it is launched. It stays in this list until the app has taken it over.

            EXAMPLES
              reprise-lab phone transfers
              reprise-lab phone transfers --json | jq -r .transfer.id

            EXIT CODES
              0 shown; 69 no phone runs there. All: reprise-lab --help
            """)

    @OptionGroup var app: PhoneAppOption

    private struct Line: Encodable {
        let app: String
        let transfer: Transfer
    }

    func run() async throws {
        let status = try await app.phone.talk { try await $0.status() }
        for shown in status.apps where app.app == nil || shown.id == app.app {
            for transfer in shown.transfers {
                if app.phone.json {
                    let line = Line(app: shown.id, transfer: transfer)
                    try StandardOutput.write(PhoneJSON.encode(line) + [UInt8(ascii: "\n")])
                } else {
                    let words = "\(shown.id)  \(transfer.shown)"
                    try StandardOutput.write(words.printable.fitting(80))
                }
            }
        }
    }
}

extension Transfer {
    /// On one line, for people.
    var shown: String {
        let size =
            total.map { "\(bytes.grouped) of \($0.grouped) bytes" } ?? "\(bytes.grouped) bytes"
        return "\(id)  \(state.word)  \(size)"
    }
}
