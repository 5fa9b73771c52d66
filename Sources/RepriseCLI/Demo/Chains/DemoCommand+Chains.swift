import ArgumentParser
import Foundation
import RepriseCore

extension DemoCommand {
    /// `reprise demo chains`.
    func chains() async throws {
        guard !list else {
            for scenario in ChainsScenario.all(chainsScale) {
                try StandardOutput.write(scenario.name.left(24) + scenario.title)
            }
            return
        }
        if !json {
            try StandardOutput.write(
                Terminal.output.paint("Reprise demo: chains", .bold)
                    + "\nSeed 003, for real: every kill is a SIGKILL of a process.")
        }
        let demo = chainsDemo
        let report = try await Self.ending { try await demo.play() }
        try StandardOutput.write(json ? try report.json() : report.summary(Terminal.output))
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }
}
