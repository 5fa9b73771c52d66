import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Parsers of foreign bytes")
struct CorpusTests {
    /// The settings are here alone: no program but a test can be linked with the command line tool.
    static let targets =
        FuzzTarget.all + [
            FuzzTarget(name: "settings", maximumBytes: 2_048, check: SettingsProperties.check)
        ]

    static let corpora = Command.root.appending(path: "Tests/Fuzz/Corpora")

    @Test(
        "A parser keeps its properties on its corpus and on mutations of it",
        arguments: targets.map(\.name))
    func keepsProperties(name: String) throws {
        let target = try #require(Self.targets.first { $0.name == name })
        let folder = Self.corpora.appendingPathComponent(name)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        try #require(files.count >= 5, "a corpus of \(files.count) files")
        let inputs = try files.map { file in
            (file, [UInt8](try Data(contentsOf: folder.appendingPathComponent(file))))
        }
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        var mutation = InputMutation(words: Self.words, others: inputs.map(\.1))
        let end = ContinuousClock.now + .milliseconds(1_500)
        for (file, bytes) in inputs { try check(target, bytes, "\(file)") }
        // As many as there is time for, and a thousand in any case.
        for round in 0..<100_000 {
            if round >= 1_000, ContinuousClock.now > end { break }
            let (file, bytes) = inputs[round % inputs.count]
            let mutant = mutation.mutate(bytes, most: target.maximumBytes, using: &random)
            try check(target, mutant, "\(file), seed \(seed), round \(round)")
        }
    }

    private func check(_ target: FuzzTarget, _ bytes: [UInt8], _ place: String) throws {
        do {
            try target.check(bytes)
        } catch {
            Issue.record("\(target.name), \(place): \(error): \(Data(bytes).base64EncodedString())")
            throw error
        }
    }

    private static let words: [[UInt8]] = {
        let file = corpora.appendingPathComponent("dictionary.txt")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            guard let open = line.firstIndex(of: "\""), line.last == "\"" else { return nil }
            return Dictionary.unescaped(line[line.index(after: open)...].dropLast())
        }
    }()

    /// The files of libFuzzer's dictionaries: `\xAB`, `\"` and `\\`.
    private enum Dictionary {
        static func unescaped(_ text: Substring) -> [UInt8] {
            var result: [UInt8] = []
            var rest = Array(text.utf8)[...]
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\\"), let kind = rest.popFirst() else {
                    result.append(byte)
                    continue
                }
                guard kind == UInt8(ascii: "x") else {
                    result.append(kind)
                    continue
                }
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                rest = rest.dropFirst(2)
                result.append(UInt8(digits, radix: 16) ?? 0)
            }
            return result
        }
    }
}
