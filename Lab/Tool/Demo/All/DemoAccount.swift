import RepriseCommandLine
import RepriseCore

/// A feature's expected and observed result: a row of the table at the end of `reprise-lab demo`.
struct DemoAccount: Encodable, Sendable {
    /// The feature.
    let feature: String
    /// The invariant.
    let promise: String
    /// The result of the case study's original app; nil: not covered.
    let before: String?
    /// The same with the document's own repair.
    let repaired: String?
    /// The result with Reprise.
    let reprise: String
    /// Whether the invariant held, by the feature's own table.
    let kept: Bool

    private enum CodingKeys: String, CodingKey {
        case feature = "door"
        case promise
        case before
        case repaired
        case reprise
        case kept
    }
}

/// The result of one part of the demo.
protocol DemoReport: Sendable {
    /// Whether all invariants held.
    var hasPassed: Bool { get }
    /// The rows of the table at the end.
    var accounts: [DemoAccount] { get }
    /// All of it for programs, one JSON object.
    func json() throws -> String
    /// What was not printed during the run; empty: nothing.
    func rest(_ terminal: Terminal) -> String
}
