import RepriseCommandLine
import RepriseCore

/// The result of a demo.
protocol DemoReport: Sendable {
    /// Whether all invariants held.
    var hasPassed: Bool { get }
    /// The rows of the table at the end of `reprise-lab demo`.
    var accounts: [DemoAccount] { get }
    /// All of it for programs.
    var members: ReportObject { get }
    /// What was not printed during the run; empty: nothing.
    func rest(_ terminal: Terminal) -> String
}

/// A feature's expected and observed result: a row of the table at the end of `reprise-lab demo`.
struct DemoAccount: Encodable, ReportMember {
    /// The feature.
    let feature: String
    /// The invariant.
    let promise: String
    /// The result of the case study's original app; nil: not covered.
    let before: String?
    /// The same with the document's own repair.
    var repaired: String?
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

// MARK: - For programs

/// A value in a report for programs.
protocol ReportMember: Sendable {
    /// One line of JSON, the same for the same value.
    func line() throws -> String
}

extension Bool: ReportMember {}
extension Int: ReportMember {}
extension Int64: ReportMember {}
extension UInt64: ReportMember {}
extension String: ReportMember {}
extension Double: ReportMember {
    /// With its fraction: `JSONEncoder` writes 8.0 as 8.
    func line() -> String { "\(self)" }
}
extension Array: ReportMember where Element: ReportMember {
    func line() throws -> String {
        "[" + (try map { try $0.line() }.joined(separator: ",")) + "]"
    }
}
extension Dictionary: ReportMember where Key == String, Value: ReportMember {
    func line() throws -> String { try ReportObject(mapValues { $0 }).line() }
}

/// An object in a report for programs; a member without a value is left out.
struct ReportObject: ReportMember, ExpressibleByDictionaryLiteral {
    private var members: [String: any ReportMember]

    init(_ members: [String: (any ReportMember)?]) {
        self.members = members.compactMapValues { $0 }
    }
    init(dictionaryLiteral members: (String, (any ReportMember)?)...) {
        self.init(Dictionary(members) { first, _ in first })
    }

    /// A member that is null without a value.
    static func nullable(_ value: Int64?) -> any ReportMember { value ?? Null() }

    private struct Null: ReportMember {
        func line() -> String { "null" }
    }

    func merging(_ other: ReportObject) -> ReportObject {
        var all = self
        all.members.merge(other.members) { first, _ in first }
        return all
    }

    func line() throws -> String {
        let lines = try members.sorted { $0.key < $1.key }
            .map { "\"\($0)\":" + (try $1.line()) }
        return "{" + lines.joined(separator: ",") + "}"
    }
}
