import RepriseTestSupport

/// The real binary `reprise-lab`, run as a person runs it.
enum LabTool {
    static func run(
        _ arguments: [String], environment: [String: String] = [:], limit: Double = 60
    ) async throws -> Tool.Result {
        try await Tool.run(arguments, program: .lab, environment: environment, limit: limit)
    }

    static func run(_ arguments: String...) async throws -> Tool.Result { try await run(arguments) }
}

extension Sequence {
    /// Every second element: a test that plays all scenarios in two halves ends within a minute.
    func half(_ number: Int) -> [Element] {
        enumerated().filter { $0.offset % 2 == number }.map(\.element)
    }
}
