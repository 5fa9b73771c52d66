import ArgumentParser
import RepriseCommandLine

/// The root command of what shows that Reprise works.
struct LabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reprise-lab",
        abstract: "Show that Reprise works: demos, simulation, a stand-in phone, crashes.",
        discussion: """
            TRY IT
              reprise-lab demo                   all features, with real kills
              reprise-lab simulate               look for a violated invariant
              reprise-lab reach                  what arrives with and without push
              reprise-lab phone run &            a stand-in phone, by hand
              reprise-lab crash kills            kill devices and a server, and compare

            The tool `reprise` stands beside this one: demos start its server.

            \(ExitStatus.help)
            """,
        version: ToolVersion.text,
        subcommands: [
            DemoCommand.self, SimulateCommand.self, ReachCommand.self, PhoneToolCommand.self,
            CrashCommand.self, DeviceCommand.self, AppCommand.self, LabReferenceCommand.self,
        ])
}
