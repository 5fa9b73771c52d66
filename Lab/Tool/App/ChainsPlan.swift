/// The chains of the demo as data, so that both apps do the same.
struct ChainsPlan: Sendable {
    /// The kind of task.
    enum Sort: String, Codable, Sendable {
        /// Leaves a line in the file of effects.
        case mark
        /// The same, once for each key, whatever is killed.
        case once
        /// Copies a file.
        case copy
        /// Fetches a file in the app's process.
        case download
        /// Has the system fetch a file.
        case transfer
        /// Keeps a position, and then one that does not fit on the disk.
        case fill
        /// Waits for an event that never comes.
        case wait
    }

    struct Task: Codable, Hashable, Sendable {
        var name: String
        var sort = Sort.mark
        /// How long it takes.
        var milliseconds = 0
        /// The attempts that fail.
        var fails = 0
        /// Hangs after its effect, once, so that it can be killed before the record.
        var hangs = false
        /// Hangs before its effect, once, so that it can be killed there.
        var holds = false
        /// Hangs before its effect if its process has had so many already; nil: never.
        var mostPerLife: Int?
        /// Whether it has a compensation.
        var hasCompensation = false
        /// Whether that hangs before its effect, once.
        var compensationHolds = false
        /// How many bytes come of it.
        var bytes = 0
        /// The task whose output it reads.
        var reads: String?

        private enum CodingKeys: String, CodingKey {
            case name
            case sort
            case milliseconds
            case fails
            case hangs
            case holds
            case mostPerLife
            case hasCompensation = "hasUndo"
            case compensationHolds
            case bytes
            case reads
        }
    }

    var steps: [[Task]]

    init(_ steps: [[Task]]) { self.steps = steps }

    /// Steps of one task each.
    init(count: Int, milliseconds: Int, mostPerLife: Int? = nil) {
        steps = (1...count).map {
            [Task(name: "step-\($0)", milliseconds: milliseconds, mostPerLife: mostPerLife)]
        }
    }

    /// The labels of the effects that have to be there when a chain is done.
    var effects: [String] {
        steps.joined().filter { ![.wait, .transfer].contains($0.sort) }.map(\.name)
    }
}

extension ChainsPlan {
    /// The bytes of the file that is copied.
    static let copyBytes = 262_144
    /// The bytes of the file that the phone fetches.
    static let transferBytes = 4_000_000

    /// A plan by its name; an unknown one has no steps.
    static func named(_ name: String, version: Int = 1) -> ChainsPlan {
        switch name {
        case "copies":
            ChainsPlan(
                (1...3).map { copy in
                    [Task(name: "copy-\(copy)", sort: .copy, milliseconds: 400, holds: copy == 2)]
                })
        case "parallel":
            ChainsPlan([
                (1...8).map { Task(name: "task-\($0)", milliseconds: 100 * $0, holds: $0 > 3) },
                [Task(name: "last")],
            ])
        case "thousand": ChainsPlan(count: 1_000, milliseconds: 0)
        case "download":
            ChainsPlan([[Task(name: "film", sort: .download)], [Task(name: "after")]])
        case "transfer":
            ChainsPlan([
                [Task(name: "before")], [Task(name: "film", sort: .transfer)],
                [Task(name: "after")],
            ])
        case "effect":
            ChainsPlan([
                [Task(name: "plain", hangs: true)],
                [Task(name: "by-key", sort: .once, hangs: true)], [Task(name: "after")],
            ])
        case "retried":
            ChainsPlan([[Task(name: "first")], [Task(name: "flaky", fails: 2)]])
        case "compensated":
            ChainsPlan([
                [Task(name: "book-flight", milliseconds: 20, hasCompensation: true)],
                [
                    Task(
                        name: "book-hotel", milliseconds: 20, hasCompensation: true,
                        compensationHolds: true)
                ],
                [Task(name: "book-car", fails: 99)],
            ])
        case "corrupted":
            ChainsPlan([
                [Task(name: "list", bytes: 20_000)],
                [Task(name: "wait", milliseconds: 300, holds: true)],
                [Task(name: "use", reads: "list")],
            ])
        // One slot may not do all of it, however late it is taken back.
        case "slots": ChainsPlan(count: 18, milliseconds: 150, mostPerLife: 4)
        case "force-quit": ChainsPlan(count: 18, milliseconds: 150)
        case "upgrade":
            ChainsPlan(
                [
                    [Task(name: "first")],
                    [Task(name: "second", milliseconds: 300, holds: true)],
                    [Task(name: "third")],
                ] + (version > 1 ? [[Task(name: "extra")]] : []))
        case "second": ChainsPlan(count: 40, milliseconds: 25)
        case "many": ChainsPlan(count: 3, milliseconds: 20)
        case "waiting": ChainsPlan([[Task(name: "wait", sort: .wait)], [Task(name: "after")]])
        case "full":
            ChainsPlan([
                [Task(name: "before")], [Task(name: "fill", sort: .fill)], [Task(name: "after")],
            ])
        case "one": ChainsPlan([[Task(name: "first")]])
        default: ChainsPlan([])
        }
    }
}
