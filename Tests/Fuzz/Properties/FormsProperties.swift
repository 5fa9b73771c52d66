import Foundation
import RepriseWire

/// Catalogues of forms.
enum FormsProperties {
    static func check(_ bytes: [UInt8]) throws {
        let problems: [FormsProblem]
        do {
            let catalogue = try FormsCatalogue(bytes)
            try accepted(catalogue, bytes)
            problems = []
        } catch let failure as FormsCatalogueFailure {
            try refused(failure.problems, bytes)
            problems = failure.problems
        }
        // A line before it moves everything and changes nothing.
        let moved: [FormsProblem]
        do {
            _ = try FormsCatalogue([0x0a] + bytes)
            moved = []
        } catch { moved = error.problems }
        try hold(
            moved.map(\.pointer) == problems.map(\.pointer)
                && moved.map(\.line) == problems.map { $0.line + 1 },
            "a line before it changes the problems")
    }

    private static func accepted(_ catalogue: FormsCatalogue, _ bytes: [UInt8]) throws {
        try hold(catalogue.bytes == bytes, "the bytes are others")
        let theirs = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        try hold(
            theirs?["format"] as? String == "forms/1"
                || JSONProperties.isBeyondFoundation(bytes) || JSONProperties.hasMark(bytes),
            "Foundation reads another format")
        let ids = Set(catalogue.forms.map(\.id))
        try hold(ids.count == catalogue.forms.count, "an id is there twice")
        try hold(!ids.contains("") && !catalogue.version.isEmpty, "a name is empty")
        for form in catalogue.forms {
            try hold(!form.events.isEmpty && !form.title.isEmpty, "a form waits for nothing")
        }
    }

    private static func refused(_ problems: [FormsProblem], _ bytes: [UInt8]) throws {
        try hold((1...FormsLimits.problems).contains(problems.count), "\(problems.count) problems")
        let lines = bytes.reduce(1) { $0 + ($1 == 0x0a ? 1 : 0) }
        var last = 1
        for problem in problems {
            try hold((last...max(last, lines)).contains(problem.line), "line \(problem.line)")
            try hold(
                problem.pointer.utf8.first.map { $0 == UInt8(ascii: "/") } ?? true, problem.pointer)
            try hold(!problem.message.isEmpty, "nothing is said")
            last = problem.line
        }
    }
}
