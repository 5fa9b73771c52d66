/// Steps that depend on earlier outputs.
extension ChainsScript {
    init(steps: [[Part]]) { self.steps = steps }

    /// Some tasks with a worker are followed by a step that decides on others.
    mutating func decide(_ mix: ChainsMix, _ random: inout SeededRandom) {
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
