import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import RepriseTestSupport
import Testing

@testable import RepriseLab

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite("reach")
struct ReachCommandTests {
    private static let quick = ["reach", "--devices", "10", "--days", "2", "--draws", "5"]

    private func scratch(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-reach-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test(
        "the report has a table, a chart and the claim's requirements, in 80 columns and without colours"
    )
    func text() async throws {
        let result = try await LabTool.run(Self.quick, limit: 120)
        #expect(result.status == 0)
        for line in result.lines { #expect(line.count <= 80, "\(line)") }
        for words in [
            "sockets only", "sockets + refresh", "Web Push", "APNs", "over assumptions", "±",
            "90–95 %", "within 5 s", "only at open",
        ] {
            #expect(result.output.contains(words), "\(words)")
        }
        #expect(!result.output.contains("\u{1b}"))
    }

    @Test("two processes, each with its own hash seed, say and draw the same byte by byte")
    func deterministic() async throws {
        try await scratch { folder in
            var outputs: [String] = []
            for (index, environment) in [[:], [:], ["SWIFT_DETERMINISTIC_HASHING": "1"]]
                .enumerated()
            {
                let chart = folder.appendingPathComponent("\(index).svg").path
                let result = try await LabTool.run(
                    Self.quick + ["--json", "--svg", chart], environment: environment, limit: 120)
                #expect(result.status == 0)
                outputs.append(result.output + (try String(contentsOfFile: chart, encoding: .utf8)))
            }
            #expect(outputs[0] == outputs[1] && outputs[0] == outputs[2])
        }
    }

    @Test("the chart is well-formed XML and says in words what it shows")
    func chart() async throws {
        try await scratch { folder in
            let chart = folder.appendingPathComponent("reach.svg")
            let result = try await LabTool.run(Self.quick + ["--svg", chart.path], limit: 120)
            #expect(result.status == 0)
            let data = try Data(contentsOf: chart)
            let parser = XMLParser(data: data)
            #expect(parser.parse(), "\(String(describing: parser.parserError))")
            let text = String(decoding: data, as: UTF8.self)
            #expect(text.contains("<title") && text.contains("% within 1 h"))
            #expect(!text.contains("nan") && !text.contains("inf"))
        }
    }

    @Test("printed inputs are read again unchanged")
    func roundTrip() async throws {
        try await scratch { folder in
            let printed = try await LabTool.run(["reach", "--print-inputs"], limit: 60)
            #expect(printed.status == 0)
            #expect(try ReachInputsFile.inputs(Data(printed.output.utf8)) == ReachInputs())
            let file = folder.appendingPathComponent("inputs.json")
            try Data(printed.output.utf8).write(to: file)
            let again = try await LabTool.run(
                ["reach", "--print-inputs", "--inputs", file.path], limit: 60)
            #expect(again.output == printed.output)
        }
    }

    @Test("a number is certain, a value widens its range, and what is left out keeps its default")
    func inputs() throws {
        let inputs = try ReachInputsFile.inputs(
            Data(#"{"permission":0.9,"mutedShare":{"value":0.7}}"#.utf8))
        #expect(inputs[.permission].range == ReachRange(0.9, 0.9, 0.9))
        #expect(inputs[.mutedShare].range == ReachRange(0, 0.7, 0.7))
        #expect(inputs[.mutedShare].basis == .assumed)
        #expect(inputs[.opensPerDay] == ReachInputs()[.opensPerDay])
    }

    @Test(
        "a malformed file is refused with the name of the wrong member", .limit("reach.file"),
        arguments: [
            (#"{"permision":0.4}"#, "permision"), (#"{"permission":1.4}"#, "permission.low"),
            (#"{"permission":"much"}"#, "permission"), (#"{"permission":true}"#, "permission"),
            (#"{"permission":null}"#, "permission"),
            (#"{"permission":{"value":"x"}}"#, "permission.value"),
            (#"{"permission":{"valeu":0.4}}"#, "permission.valeu"),
            (#"{"permission":{"basis":"sure"}}"#, "permission.basis"),
            (#"{"permission":{"low":0.5,"value":0.4}}"#, "permission.value"),
            (#"{"opensPerDay":{"high":1e9}}"#, "opensPerDay.high"),
            (#"{"opensPerDay":-1}"#, "opensPerDay"), (#"{"opensPerDay":1e999}"#, "inputs"),
            (#"[1]"#, "JSON object"), ("", "JSON object"), ("{", "JSON object"),
            ("\u{0}\u{1}", "JSON object"),
        ])
    func badInputs(text: String, names: String) throws {
        let error = #expect(throws: RepriseError.self) {
            try ReachInputsFile.inputs(Data(text.utf8))
        }
        #expect(error?.code == .malformed)
        #expect(error?.line.contains(names) == true, "\(error?.line ?? "")")
    }

    @Test("nonsense ends it with the status of its kind and one line", .limit("reach.population"))
    func nonsense() async throws {
        try await scratch { folder in
            let bad = folder.appendingPathComponent("bad.json")
            try Data(#"{"permission":7}"#.utf8).write(to: bad)
            let long = folder.appendingPathComponent("long.json")
            try Data(repeating: 0x20, count: ReachLimits.fileBytes + 1).write(to: long)
            for (arguments, status) in [
                (["--devices", "1"], 64), (["--days", "0"], 64), (["--draws", "-1"], 64),
                (["--seed", "-1"], 64), (["--jobs", "0"], 64), (["--svg", ""], 64),
                (["--inputs", "/nowhere.json"], 66), (["--inputs", folder.path], 66),
                (["--inputs", bad.path], 65), (["--inputs", long.path], 65),
                (["--svg", "/nowhere/at/all.svg"], 73), (["--svg", folder.path], 73),
                (["more"], 64),
            ] {
                let result = try await LabTool.run(["reach"] + arguments, limit: 60)
                #expect(result.status == Int32(status), "\(arguments) \(result.error)")
                #expect(result.output.isEmpty)
                #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
            }
        }
    }
}
