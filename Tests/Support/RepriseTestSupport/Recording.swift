import Foundation
package import Testing

/// Names that are kept for ever, one a line, beside the tests.
///
/// `REPRISE_RECORD=1` writes them anew: only for names that are added.
package struct Recording {
    private let file: URL

    /// - Parameters:
    ///   - name: a file in the folder `Files` beside the test.
    ///   - test: the test's source.
    package init(name: String, test: String = #filePath) {
        file = URL(fileURLWithPath: test).deletingLastPathComponent()
            .appendingPathComponent("Files").appendingPathComponent(name)
    }

    package func text() throws -> String { try String(contentsOf: file, encoding: .utf8) }

    /// Compares `lines` with the recorded ones.
    package func check(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) throws
    {
        if ProcessInfo.processInfo.environment["REPRISE_RECORD"] == "1" {
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
        }
        let recorded = try text().split(separator: "\n").map(String.init)
        let missing = Set(recorded).subtracting(lines).sorted()
        let added = Set(lines).subtracting(recorded).sorted()
        #expect(missing.isEmpty, "no longer there", sourceLocation: sourceLocation)
        #expect(added.isEmpty, "not recorded", sourceLocation: sourceLocation)
    }

    /// The paths of all members of a value of JSON, as `tasks[].state`.
    package static func paths(_ value: Any, _ prefix: String = "") -> Set<String> {
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

    /// The raw values of a type, as one line.
    package static func line<Value: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Value.Type
    ) -> String {
        name + ": " + type.allCases.map { "\($0.rawValue)" }.joined(separator: " ")
    }
}

extension Tool {
    /// Every command of a program with its options and arguments, as it says of itself.
    package static func commands(of program: Program = .reprise) async throws -> [String] {
        commands(try await dump(of: program), "")
    }

    /// What a program says of itself and its commands.
    static func dump(of program: Program) async throws -> [String: Any] {
        let dump = try await run(["--experimental-dump-help"], program: program).output
        let value = try #require(
            try JSONSerialization.jsonObject(with: Data(dump.utf8)) as? [String: Any])
        return try #require(value["command"] as? [String: Any])
    }

    private static func commands(_ command: [String: Any], _ path: String) -> [String] {
        let name = (path + " " + (command["commandName"] as? String ?? "")).trimmingCharacters(
            in: .whitespaces)
        let arguments = (command["arguments"] as? [[String: Any]] ?? []).map { argument in
            let names = (argument["names"] as? [[String: Any]] ?? []).compactMap {
                $0["name"] as? String
            }
            let values = argument["allValues"] as? [String] ?? []
            return "\(name): \(names.sorted().joined(separator: " ")) "
                + "\(argument["valueName"] as? String ?? "") \(values.joined(separator: "|"))"
        }
        let below = (command["subcommands"] as? [[String: Any]] ?? []).flatMap {
            commands($0, name)
        }
        return [name] + arguments + below
    }
}
