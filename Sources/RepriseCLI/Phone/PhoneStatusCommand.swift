import ArgumentParser
import ReprisePhone

/// `reprise phone status`: how everything is.
struct PhoneStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how the phone and its apps are.",
        discussion: """
            EXAMPLES
              reprise phone status
              reprise phone status --json | jq '.apps[].state'

            EXIT CODES
              0 shown; 69 no phone runs there. All: reprise --help
            """)

    @OptionGroup var phone: PhoneOption

    func run() async throws {
        let status = try await phone.talk { try await $0.status() }
        guard !phone.json else {
            return try StandardOutput.write(PhoneJSON.encode(status) + [UInt8(ascii: "\n")])
        }
        let endpoint = PushEndpoint.Address(in: phone.folder)
        for line in PhoneStatusText(status, endpoint, terminal: .output).lines {
            try StandardOutput.write(line)
        }
    }
}
