import ArgumentParser
import Foundation

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "RepriseBenchmarks",
        abstract: "Measures Reprise beside bare loops that do the same I/O.",
        discussion: """
            swift run --traits Lab -c release RepriseBenchmarks               all of it, about one minute
            swift run --traits Lab -c release RepriseBenchmarks --only fan-out,publish
            """,
        subcommands: [Serve.self, Bare.self, PushBare.self])

    @Option(
        help:
            "Which: codec, fan-out, stopped, publish, catch-up, device, complete, channels, latency, tokens, idle, forms, reminders, chains, jobs, push, notices, directories, logs, ids; separated by commas."
    )
    var only: String?

    @Flag(help: "Figures as JSON instead of a table.")
    var json = false

    func run() async throws {
        var report = Report()
        var failed = false
        let chosen = only?.split(separator: ",").map(String.init)
        for (name, suite) in Suites.all where chosen?.contains(name) ?? true {
            FileHandle.standardError.write(Data("\(name) …\n".utf8))
            do {
                report.figures += try await suite()
            } catch {
                // The figures of the others are worth having.
                FileHandle.standardError.write(Data("\(name) failed: \(error)\n".utf8))
                failed = true
            }
        }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            print(String(decoding: try encoder.encode(report), as: UTF8.self))
        } else {
            print(report.table())
        }
        if failed { throw ExitCode.failure }
    }

    struct Bare: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "serve-bare", shouldDisplay: false)
        @Option var data: String
        @Flag var durable = false
        func run() async throws {
            try await BareServer.run(storage: durable ? BareStorage(folder: data) : nil)
        }
    }
}
