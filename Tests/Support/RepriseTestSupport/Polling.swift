import RepriseTesting
package import Testing

/// Waits until a condition holds; fails the test at a deadline that only a defect reaches.
///
/// The limit bounds a test that is broken: one that needs more than the default waits for the wrong
/// thing. It is below the minute that suites allow a test, which would end it without its words.
/// What it waits for is told at the deadline, and may say what there was instead.
///
/// ```swift
/// try await eventually("the chain has ended") { try await chains.status(id)?.state == .succeeded }
/// ```
package func eventually(
    _ what: @autoclosure () -> any CustomStringConvertible, within limit: Duration = .seconds(50),
    every pause: Duration = .milliseconds(5),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let isTrue = try await Waiting.isTrue(within: limit, every: pause, condition)
    try #require(isTrue, "\(what().description)", sourceLocation: sourceLocation)
}

/// Waits for a value; says what there was instead at a deadline that only a defect reaches.
package func becomes<Value: Equatable>(
    _ what: String, _ wanted: Value, within limit: Duration = .seconds(50),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ value: () async throws -> Value
) async throws {
    var last = try await value()
    try await eventually(
        "\(what): \(last), not \(wanted)", within: limit, sourceLocation: sourceLocation
    ) {
        last = try await value()
        return last == wanted
    }
}

/// What a task ends with; fails the test where it does not end, which awaiting its value could not.
package func result<Value: Sendable>(
    of task: Task<Value, any Error>, _ what: String = "run()",
    within limit: Duration = .seconds(50),
    sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Result<Value, any Error> {
    let results = Seen<Result<Value, any Error>>()
    Task { results.add(await task.result) }
    try await eventually("\(what) returns", within: limit, sourceLocation: sourceLocation) {
        results.count == 1
    }
    return results.all[0]
}
