import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTesting

/// Effects outside of the journal: a line in a file.
struct Append: Worker {
    struct Input: Codable, Sendable {
        var line: String
        var milliseconds = 0
        /// Waits for ever after the effect, on the first attempt.
        var hangs = false
    }

    static let identifier = "append"
    let file: LineFile

    init(_ path: String) throws { file = try LineFile(path, length: 128) }

    func run(_ input: Input, _ work: WorkContext) async throws -> String {
        if input.milliseconds > 0 { try await Task.sleep(for: .milliseconds(input.milliseconds)) }
        file.append("\(work.key) \(work.attempt) \(input.line)")
        if input.hangs, work.attempt == 1 { try await Task.sleep(for: .seconds(600)) }
        return input.line
    }
}

struct RunnerInput: Codable, Sendable {
    var count: Int
    var milliseconds = 0
}

/// Steps of one task each, which append their number and that of the task before.
let steps = Chain<RunnerInput>("steps") { input in
    for number in 0..<input.count {
        Work("step-\(number)", Append.self) { done in
            let before = Work<Append>("step-\(number - 1)", Append.self) { _ in .init(line: "") }
            let line =
                number == 0
                ? "first" : "\(number) after \(try done[before].split(separator: " ")[0])"
            return .init(line: line, milliseconds: input.milliseconds)
        }
    }
}

/// Tasks in parallel that take longer and longer, then one more.
let parallel = Chain<RunnerInput>("parallel") { input in
    Parallel {
        for number in 0..<input.count {
            Work("task-\(number)", Append.self) { _ in
                .init(line: "\(number)", milliseconds: input.milliseconds * number)
            }
        }
    }
    Work("last", Append.self) { _ in .init(line: "last") }
}

/// Steps that an earlier output decides on: of each number a chain of two tasks, of which the
/// second one depends on the first.
let deciding = Chain<RunnerInput>("deciding") { input in
    let count = Work("count", Append.self) { _ in .init(line: "\(input.count)") }
    count
    When("some") { done in
        try done[count] != "0"
    } then: {
        Each("numbers", of: { done in Array(0..<(Int(try done[count]) ?? 0)) }) { number in
            Subchain("n\(number)", two) { _ in
                RunnerInput(count: number, milliseconds: input.milliseconds)
            }
        }
    } else: {
        Work("none", Append.self) { _ in .init(line: "none") }
    }
    Work("last", Append.self) { done in
        .init(line: try done.output(of: "n\(input.count - 1)/even-or-odd", by: Append.self))
    }
}

private let two = Chain<RunnerInput>("two") { input in
    let first = Work("first", Append.self) { _ in
        .init(line: "\(input.count)", milliseconds: input.milliseconds)
    }
    first
    When("parity") { done in
        Int(try done[first])?.isMultiple(of: 2) == true
    } then: {
        Work("even-or-odd", Append.self) { _ in
            .init(line: "even", milliseconds: input.milliseconds)
        }
    } else: {
        Work("even-or-odd", Append.self) { _ in
            .init(line: "odd", milliseconds: input.milliseconds)
        }
    }
}

/// One whose effect takes place, and whose process is killed before that is written down.
let hanging = Chain<RunnerInput>("hanging") { _ in
    Work("hang", Append.self) { _ in .init(line: "hang", hangs: true) }
    Work("after", Append.self) { _ in .init(line: "after") }
}

/// One that runs again and again.
let ticking = Chain<RunnerInput>("ticking") { input in
    Work("tick", Append.self) { _ in .init(line: "tick", milliseconds: input.milliseconds) }
    Work("tock", Append.self) { _ in .init(line: "tock", milliseconds: input.milliseconds) }
}

/// One that waits for what never comes.
let waiting = Chain<RunnerInput>("waiting") { _ in
    WaitFor(for: .session)
    Work("after", Append.self) { _ in .init(line: "after") }
}
