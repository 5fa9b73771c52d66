import RepriseSimulator
import RepriseTestSupport
import Testing

@testable import RepriseLab

@Suite("Commands and names of reprise-lab that were there before")
struct RecordedLabTests {
    @Test("every command, option and value")
    func commands() async throws {
        try Recording(name: "commands.txt").check(try await Tool.commands(of: .lab))
    }

    @Test("raw values that are stored or printed have their recorded spelling")
    func rawValues() throws {
        try Recording(name: "raw-values.txt").check([
            Recording.line("scenario of the demo", DemoCommand.Part.self),
            Recording.line("algorithm for reminders", RemindersAlgorithm.self),
            Recording.line("algorithm for forms", FormsAlgorithm.self),
            Recording.line("algorithm for chains", ChainsAlgorithm.self),
            Recording.line("algorithm for notices", NoticesAlgorithm.self),
            Recording.line("mutation of the simulation", Mutation.self),
        ])
    }
}
