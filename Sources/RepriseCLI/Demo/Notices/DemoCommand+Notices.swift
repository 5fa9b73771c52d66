import ArgumentParser
import Foundation
import RepriseCore

extension DemoCommand {
    /// `reprise demo notices`.
    func notices() async throws {
        guard !list else { return try NoticesScenario.list() }
        if !json {
            try StandardOutput.write(
                Terminal.output.paint("Reprise demo: notices", .bold)
                    + "\nSeed 004, for real; it takes about a minute\(full ? ", and here an hour" : "").\n"
            )
        }
        let demo = noticesDemo
        let report = try await Self.ending { try await demo.play() }
        if json { try StandardOutput.write(try report.json()) }
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    var noticesDemo: NoticesDemo {
        NoticesDemo(
            scenarios: NoticesScenario.played(full ? .full : .quick).filter {
                only.isEmpty || only.contains($0.name)
            },
            algorithms: alone ? [.reprise] : NoticesAlgorithm.allCases,
            output: output.map { URL(fileURLWithPath: $0) }, printsTimelines: !only.isEmpty,
            isQuiet: json)
    }
}
