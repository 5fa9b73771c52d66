import ArgumentParser
import RepriseCommandLine
import RepriseWire

/// `reprise forms check`: whether a file is a catalogue, without any server.
struct FormsCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a file, without a server.",
        usage: "reprise forms check FILE [--json]",
        discussion: """
            Prints what is wrong as FILE:LINE: what to do (JSON pointer), 20 problems at
            most, and ends with 65 then. - reads the standard input. With --json each
            problem is an object on a line: line, pointer, message.

            EXAMPLES
              reprise forms check forms.json
              reprise forms check forms.json --json | jq -r .pointer

            EXIT CODES
              0 it is a catalogue; 65 it is none; 66 it cannot be read.
              All: reprise --help
            """)

    @Argument(help: ArgumentHelp("The catalogue; - for the standard input.", valueName: "file"))
    var file: String
    @Flag(help: "Print an object a line.") var json = false

    func run() async throws {
        let file = CatalogueFile(path: file)
        do {
            let catalogue = try file.read()
            let forms = catalogue.forms.count
            try StandardOutput.write(
                json
                    ? #"{"version":"\#(catalogue.version)","forms":\#(forms)}"#
                    : "version \(catalogue.version), \(forms.forms): as it should be")
        } catch let failure as FormsCatalogueFailure {
            for problem in failure.problems {
                try StandardOutput.explain(json ? Self.object(problem) : file.line(problem))
            }
            throw ExitCode(ExitStatus.badInput.rawValue)
        }
    }

    private static func object(_ problem: FormsProblem) -> String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("line")
            json.integer(Int64(problem.line))
            json.key("pointer")
            json.string(problem.pointer)
            json.key("message")
            json.string(problem.message)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension Int {
    /// "1 form", "2 forms".
    var forms: String { self == 1 ? "1 form" : "\(grouped) forms" }
}
