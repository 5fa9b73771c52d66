import Foundation

/// What a tool declares for `docs`: `scripts/reference` joins what all tools print.
package struct Reference: Sendable, Encodable {
    package var limits: [LimitTable] = []
    package var metrics: [MetricReference] = []
    /// The codes of ``RepriseError``.
    package var errors: [CodeReference] = []
    package var refusals: [CodeReference] = []
    package var closes: [CodeReference] = []
    /// The exit statuses of the tools.
    package var exits: [CodeReference] = []

    package init() {}

    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
