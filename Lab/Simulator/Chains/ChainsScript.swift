import Foundation
import RepriseChains
import RepriseCore

/// What a chain of the workload does: the input that its definition makes steps of.
struct ChainsScript: Codable, Sendable {
    enum What: String, Codable, Sendable {
        case copy, send, rare, session, reply, when, each, chain
    }

    struct Part: Codable, Sendable {
        var name: String
        var what: What
        var attempts: Int
        var deadline: Int?
        var canCompensate: Bool
        /// A task of a step before whose output it takes.
        var reads: String?
        /// The steps of `when`, of each of so many items of `each`, and of `chain`.
        var body: [[Part]]?
        var count: Int?
        /// What `when` decides, and its other steps.
        var holds: Bool?
        var other: [[Part]]?

        private enum CodingKeys: String, CodingKey {
            case name
            case what
            case attempts
            case deadline
            case canCompensate = "canUndo"
            case reads
            case body
            case count
            case holds
            case other
        }
    }

    var steps: [[Part]]

    init(_ mix: ChainsMix, _ random: inout SeededRandom) {
        steps = []
        var last: String?
        for step in 0..<1 + random.index(mix.steps) {
            let width = random.chance(mix.parallel) ? 2 + random.index(mix.isLarge ? 3 : 2) : 1
            var parts = (0..<width).map { place in
                Part(
                    name: "t\(step)-\(place)",
                    what: random.chance(mix.rare) ? .rare : random.chance(0.5) ? .copy : .send,
                    attempts: 1 + random.index(4),
                    deadline: random.chance(mix.deadlines) ? 5 + random.index(60) : nil,
                    canCompensate: random.chance(mix.undos), reads: random.chance(0.5) ? last : nil)
            }
            last = parts[0].name
            if random.chance(mix.waits) {
                parts = [
                    Part(
                        name: "w\(step)", what: random.chance(0.5) ? .session : .reply,
                        attempts: 1, deadline: random.chance(0.2) ? 30 + random.index(90) : nil,
                        canCompensate: false)
                ]
                last = nil
            }
            steps.append(parts)
        }
        if mix.choices { decide(mix, &random) }
    }

    // MARK: The definition

    static let definition = "script"

    /// Versions 1 and 2 go together, and 3 and 4; version 3 cannot go on with those before it.
    static func chain(version: Int) -> Chain<ChainsScript> {
        Chain(definition, version: version, compatibleWith: compatible[version] ?? []) { script in
            steps(script.steps, version)
            if version == 2 || version == 4 {
                Work("extra", SimulatedCopy.self) { _ in "extra" }
            }
        }
    }

    private static let compatible: [Int: Set<Int>] = [2: [1], 4: [1, 2, 3]]

    static func canGoOn(_ stored: Int, with version: Int) -> Bool {
        stored == version || compatible[version]?.contains(stored) ?? false
    }

    @ChainBuilder private static func steps(_ steps: [[Part]], _ version: Int) -> [ChainStep] {
        for step in steps {
            Parallel {
                for part in step {
                    switch part.what {
                    case .copy: work(part, SimulatedCopy.self, version)
                    case .send: work(part, SimulatedSend.self, version)
                    case .rare: work(part, SimulatedRare.self, version)
                    case .session: wait(part, WaitFor(for: .session, name: part.name))
                    case .reply: wait(part, WaitFor(forEntry: ChainsKinds.reply, name: part.name))
                    case .when:
                        When(part.name) { done in
                            let read = try output(part, done) ?? ""
                            return read.hasSuffix(part.reads ?? "") == (part.holds == true)
                        } then: {
                            Self.steps(part.body ?? [], version)
                        } else: {
                            Self.steps(part.other ?? [], version)
                        }
                    case .each:
                        Each<Int>(
                            part.name,
                            of: { done in
                                _ = try output(part, done)
                                return Array(0..<(part.count ?? 0))
                            }
                        ) { item in
                            Self.steps(part.steps(of: item), version)
                        }
                    case .chain:
                        Subchain(part.name, inner(version)) { done in
                            _ = try output(part, done)
                            return ChainsScript(steps: part.body ?? [])
                        }
                    }
                }
            }
        }
    }

    private static func inner(_ version: Int) -> Chain<ChainsScript> {
        Chain("inner", version: version) { steps($0.steps, version) }
    }

    private static func output(_ part: Part, _ done: ChainOutputs) throws -> String? {
        try part.reads.map { try done.output(of: $0, by: SimulatedCopy.self) }
    }

    private static func wait(_ part: Part, _ wait: WaitFor) -> WaitFor {
        part.deadline.map { wait.deadline(.seconds($0)) } ?? wait
    }

    private static func work<W: Worker>(_ part: Part, _ worker: W.Type, _ version: Int) -> Work<W>
    where W.Input == String, W.Output == String {
        var work = Work(part.name, worker) { done in
            guard let name = part.reads else { return part.name }
            return try part.name + done[Work(name, SimulatedCopy.self) { _ in "" }]
        }.retry(
            attempts: part.attempts + (version >= 3 ? 1 : 0),
            Backoff(base: .seconds(1), longest: .seconds(20)))
        if let deadline = part.deadline { work = work.deadline(.seconds(deadline)) }
        return part.canCompensate
            ? work.compensation(with: SimulatedCompensation.self) { _ in part.name } : work
    }
}

/// A worker of the workload: the simulation does its work, so it has none.
protocol SimulatedWorker: Worker where Input == String, Output == String {}

extension SimulatedWorker {
    func run(_ input: String, _ work: WorkContext) async throws -> String { input }
}

struct SimulatedCopy: SimulatedWorker { static let identifier = "copy" }
struct SimulatedSend: SimulatedWorker { static let identifier = "send" }
/// Some versions of the app do not know it.
struct SimulatedRare: SimulatedWorker { static let identifier = "rare" }
struct SimulatedCompensation: SimulatedWorker { static let identifier = "undo" }

/// What happens to a device of the workload.
struct ChainsMessage {
    enum What {
        case start(
            ChainsScript, name: String?, NameConflict, ChainConstraints, delay: Duration?,
            deadline: Duration?)
        /// Of one of the chains that were started.
        case command(ChainCommand.Verb, pick: Int)
        case reply
    }

    let id: String
    let device: Int
    let at: Duration
    let what: What

    /// `random` gives each message the same number of draws, so that a shorter schedule has the
    /// same first ones.
    init(_ index: Int, _ schedule: FaultSchedule, _ mix: ChainsMix, _ random: inout SeededRandom) {
        var draw = SeededRandom(seed: random.next())
        id = "c\(index)"
        device = index % schedule.devices
        let moment = draw.fraction()
        let rank = draw.fraction()
        let isReply = rank >= mix.starts + mix.commands
        let moments = Double(isReply ? mix.replyMoments : mix.moments)
        at = schedule.length * ((moment * moments).rounded(.down) / moments)
        if rank < mix.starts {
            what = Self.start(mix, &draw)
        } else if rank < mix.starts + mix.commands {
            let verbs: [ChainCommand.Verb] =
                [.pause, .resume, .resume, .cancel, .retry]
                + (mix.choices ? [.delete, .delete, .clear] : [])
            what = .command(verbs[draw.index(verbs.count)], pick: draw.index(1_000))
        } else {
            what = .reply
        }
    }

    private static func start(_ mix: ChainsMix, _ draw: inout SeededRandom) -> What {
        let conflicts: [NameConflict] = [.keep, .replace, .append]
        return .start(
            ChainsScript(mix, &draw), name: draw.chance(mix.names) ? "name-\(draw.index(2))" : nil,
            conflicts[draw.index(3)], ChainConstraints(network: draw.chance(mix.network)),
            delay: draw.chance(mix.delays) ? draw.spread(.seconds(1), .seconds(60)) : nil,
            deadline: draw.chance(mix.deadlines) ? draw.spread(.seconds(5), .seconds(200)) : nil)
    }
}

/// What the devices of the workload declare.
enum ChainsKinds {
    static let reply = "reply"
    static let concurrency = 3

    static var all: [EntryKind] {
        var configuration = Chains.Configuration()
        configuration.concurrency = concurrency
        return Chains.kinds(configuration) + [EntryKind(reply, requires: [.journal])]
    }
}

enum SimulatedChainsJSON {
    static func bytes(_ script: ChainsScript) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return Array(try encoder.encode(script))
    }
}

/// Steps that depend on earlier outputs.
extension ChainsScript {
    init(steps: [[Part]]) { self.steps = steps }

    /// Some tasks with a worker are followed by a step that decides on others.
    private mutating func decide(_ mix: ChainsMix, _ random: inout SeededRandom) {
        for number in 0..<1 + random.index(2) {
            let place = random.index(steps.count)
            let reads = steps[place].first { [.copy, .send, .rare].contains($0.what) }?.name
            guard let reads else { continue }
            steps.insert(
                [Self.choice("x\(number)", reads, mix, &random, depth: 0)], at: place + 1)
        }
    }

    private static func choice(
        _ name: String, _ reads: String, _ mix: ChainsMix, _ random: inout SeededRandom, depth: Int
    ) -> Part {
        let kinds: [What] = [.when, .each, .chain]
        var part = Part(
            name: name, what: kinds[random.index(3)], attempts: 1, canCompensate: false,
            reads: reads)
        // The tasks of a subchain have names of their own.
        let prefix = part.what == .chain ? "" : name
        part.body = body(prefix + "b", mix, &random, depth: depth)
        switch part.what {
        case .when:
            part.holds = random.chance(0.5)
            part.other = random.chance(0.5) ? body(prefix + "o", mix, &random, depth: depth) : nil
        case .each: part.count = random.index(4)
        case .copy, .send, .rare, .session, .reply, .chain: break
        }
        return part
    }

    private static func body(
        _ name: String, _ mix: ChainsMix, _ random: inout SeededRandom, depth: Int
    ) -> [[Part]] {
        let first = Part(
            name: "\(name)0", what: random.chance(mix.rare) ? .rare : .copy,
            attempts: 1 + random.index(4), canCompensate: random.chance(mix.undos))
        guard depth < 2, random.chance(0.3) else { return [[first]] }
        return [[first], [choice("\(name)1", first.name, mix, &random, depth: depth + 1)]]
    }

    // MARK: What follows of a script

    func part(_ name: String) -> Part? { Self.find(name, steps) }

    private static func find(_ name: String, _ steps: [[Part]]) -> Part? {
        for part in steps.joined() {
            if part.name == name { return part }
            if let found = part.followers.lazy.compactMap({ find(name, $0) }).first {
                return found
            }
        }
        return nil
    }

    /// The tasks that follow a decision, and those that must not.
    func decision(_ name: String) -> (tasks: [String], others: [String])? {
        guard let part = part(name) else { return nil }
        func names(_ steps: [[Part]]) -> [String] { steps.joined().map(\.name) }
        switch part.what {
        case .when:
            let (body, other) = (names(part.body ?? []), names(part.other ?? []))
            return part.holds == true ? (body, other) : (other, body)
        case .each, .chain: return (part.followers.flatMap(names), [])
        case .copy, .send, .rare, .session, .reply: return nil
        }
    }
}

extension ChainsScript.Part {
    typealias Steps = [[ChainsScript.Part]]

    /// The steps of an item of `each`.
    func steps(of item: Int) -> Steps { renamed(body ?? []) { "\($0)#\(item)" } }

    /// All steps that may follow it, with the names that they have in its chain.
    var followers: [Steps] {
        switch what {
        case .when: [body ?? [], other ?? []]
        case .each: (0..<(count ?? 0)).map(steps)
        case .chain: [renamed(body ?? []) { "\(name)/\($0)" }]
        case .copy, .send, .rare, .session, .reply: []
        }
    }

    private func renamed(_ steps: Steps, _ rename: (String) -> String) -> Steps {
        steps.map { step in
            step.map { part in
                var part = part
                part.name = rename(part.name)
                part.reads = part.reads.map(rename)
                part.body = part.body.map { renamed($0, part.what == .chain ? { $0 } : rename) }
                part.other = part.other.map { renamed($0, rename) }
                return part
            }
        }
    }
}
