import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// Which app does the chains of the demo: the same plans, another way to remember how far they are.
enum ChainsAlgorithm: String, ExpressibleByArgument, ScenarioApp {
    /// The original app of `case-task-chain`: all chains' positions are one value, saved whole
    /// after each step.
    case singleValue = "single-value"
    case reprise
}

/// `reprise-lab app chains`: an app that does chains of tasks.
///
/// It reports to the phone's log: `process`; `journal`; `started` when the chains are; `chain` with
/// a chain's number, state and tasks that are done; `stopped` with the code of an error.
struct ChainsAppCommand: AsyncParsableCommand {
    static let configuration = AppHelp.of(
        "chains", "An app that does chains of tasks.", needed: " --plan NAME --effects FILE")

    @Option(name: .customLong("as"), help: .algorithm) var algorithm = ChainsAlgorithm.reprise
    @Option(help: "The plan of its chains, as one or parallel.") var plan: String
    @Option(help: "How many chains it starts in its first life.") var chains = 1
    @Option(help: "The file for what its tasks do.") var effects: String
    @Option(help: "A server of files.") var server = "http://127.0.0.1:1"
    @Option(help: "Which version of the app this is.") var version = 1
    @Option(help: "One more chain, of this plan, starts in each life.") var then: String?
    @Option(help: "The data of an app, for a process that no phone has launched.")
    var folder: String?
    @Flag(help: "Becomes the owner of a journal that another process owns.") var takeOver = false

    func run() async throws {
        let phone = folder == nil ? try await PhoneApp.connect() : nil
        guard let data = folder.map({ URL(fileURLWithPath: $0) }) ?? phone?.folder else { return }
        let effects = try ChainsEffects(
            at: URL(fileURLWithPath: effects), clock: phone?.timekeeper ?? SystemTimekeeper())
        effects.write(.life, "\(getpid())", 0, "-")
        let host = ChainsHost(
            phone: phone, folder: data, plan: plan, chains: chains, then: then, effects: effects,
            server: server, version: version)
        await host.report("process")
        do {
            switch algorithm {
            case .reprise: try await ChainsApp(host: host, takesOver: takeOver).run()
            case .singleValue: try await OriginalChainsApp(host: host).run()
            }
        } catch let error as RepriseError {
            await host.report("stopped", "\(error.code)")
            // Asked and answered: the phone has read what was reported before this process is gone.
            _ = try? await phone?.transfers.transfers()
        }
    }
}

/// The settings of an app of chains.
struct ChainsHost: Sendable {
    let phone: PhoneApp?
    let folder: URL
    let plan: String
    let chains: Int
    let then: String?
    let effects: ChainsEffects
    let server: String
    let version: Int

    /// The folder for the tasks' files.
    var files: URL { folder.appendingPathComponent("files") }
    var timekeeper: any Timekeeper { phone?.timekeeper ?? SystemTimekeeper() }
    /// As the sandbox names it.
    var serverName: String { String(server.trimmingPrefix("http://")) }

    /// To the phone's log, or a line of output where there is no phone.
    func report(_ what: String, _ detail: String = "") async {
        guard let phone else {
            try? StandardOutput.write(detail.isEmpty ? what : "\(what) \(detail)")
            return
        }
        await phone.report(what, detail)
    }

    /// Makes the folder of files, with the one that is copied.
    func makeFiles() throws {
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        guard plan == "copies" else { return }
        let source = files.appendingPathComponent("source")
        guard !FileManager.default.fileExists(atPath: source.path) else { return }
        try Data(repeating: 0x61, count: ChainsPlan.copyBytes).write(to: source)
    }
}
