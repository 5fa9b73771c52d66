import Foundation
import Testing

/// Names that are kept for ever, one a line, beside the tests.
///
/// `REPRISE_RECORD=1` writes them anew: only for names that are added.
struct Recording {
    let name: String

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Files")

    static func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// Compares `lines` with the recorded ones.
    func check(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) throws {
        let file = Self.folder.appendingPathComponent(name)
        if ProcessInfo.processInfo.environment["REPRISE_RECORD"] == "1" {
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        }
        let recorded = try Self.text(name).split(separator: "\n").map(String.init)
        let missing = Set(recorded).subtracting(lines).sorted()
        let added = Set(lines).subtracting(recorded).sorted()
        #expect(missing.isEmpty, "no longer there", sourceLocation: sourceLocation)
        #expect(added.isEmpty, "not recorded", sourceLocation: sourceLocation)
    }

    /// The paths of all members of a value of JSON, as `tasks[].state`.
    static func paths(_ value: Any, _ prefix: String = "") -> Set<String> {
        if let members = value as? [String: Any] {
            return members.reduce(into: []) { found, member in
                let path = prefix.isEmpty ? member.key : "\(prefix).\(member.key)"
                found.insert(path)
                found.formUnion(paths(member.value, path))
            }
        }
        if let elements = value as? [Any] {
            return elements.reduce(into: []) { $0.formUnion(paths($1, prefix + "[]")) }
        }
        return []
    }
}
