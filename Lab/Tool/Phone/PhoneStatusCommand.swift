import ArgumentParser
import RepriseCommandLine
import ReprisePhone

/// `reprise-lab phone status`: how everything is.
struct PhoneStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of the phone and its apps.",
        discussion: """
            EXAMPLES
              reprise-lab phone status
              reprise-lab phone status --json | jq '.apps[].state'

            EXIT CODES
              0 shown; 69 no phone runs there. All: reprise-lab --help
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
