import RepriseCore

/// The input of a task that is being made.
///
/// Its closure names outputs by requesting them; missing ones are read, and it is called again.
struct TaskInput {
    enum Step {
        case need(ChainDecision.Need)
        case made([UInt8])
    }

    let place: Int
    let isCompensation: Bool
    let isFirst: Bool
    private var known: [String: [UInt8]] = [:]
    private var need: ChainDecision.Need?

    init(of place: Int, isCompensation: Bool, isFirst: Bool) {
        (self.place, self.isCompensation, self.isFirst) = (place, isCompensation, isFirst)
    }

    /// - Throws: what the closure does; ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`.
    mutating func make(_ task: PlannedTask, in chain: LiveChain) throws -> Step {
        if let need { return .need(need) }
        let wanted = WantedOutputs(in: chain, known: known)
        let input = isCompensation ? task.compensation?.input ?? task.input : task.input
        let outputs = ChainOutputs(isDone: { wanted.isDone($0) }) { try wanted.find($0) }
        let result = Result { try input(outputs) }
        if let missing = wanted.missing {
            let need = try Self.need(for: missing, in: chain)
            self.need = need
            return .need(need)
        }
        let bytes = try result.get()
        guard bytes.count <= ChainsLimits.inputBytes else {
            throw RepriseError(.tooLarge, "The input has \(bytes.count) bytes.")
        }
        return .made(bytes)
    }

    /// The needed outputs were read.
    ///
    /// - Throws: the error of reading; `ChainRow.Broken` if the wanted one is missing.
    mutating func supply(_ outputs: Result<[Int: [UInt8]], any Error>, in chain: LiveChain) throws {
        guard let need else { return }
        let outputs = try outputs.get()
        guard outputs[need.place] != nil else {
            let name = chain.tasks[need.place].name
            throw ChainRow.Broken(description: "the output of \(name) is missing")
        }
        for (place, bytes) in outputs { known[chain.tasks[place].name] = bytes }
        self.need = nil
    }

    private static func need(for name: String, in chain: LiveChain) throws
        -> ChainDecision.Need
    {
        guard let place = chain.place(of: name), chain.machine.slots[place].state == .succeeded
        else { throw RepriseError(.malformed, "The task \(name) has made nothing yet.") }
        let step = chain.machine.slots[place].step
        let first = chain.tasks[..<place].lastIndex { $0.slot.step != step }.map { $0 + 1 } ?? 0
        let end = chain.tasks[place...].firstIndex { $0.slot.step != step } ?? chain.tasks.count
        return ChainDecision.Need(
            chain: chain.row.seq, place: place, places: first..<end, recent: chain.recent[place])
    }
}

/// The outputs that a closure has asked for.
///
/// Used by one closure at a time, on the engine.
private final class WantedOutputs: @unchecked Sendable {  // never leaves the call that made it
    var missing: String?
    private let known: [String: [UInt8]]
    private let chain: LiveChain

    init(in chain: LiveChain, known: [String: [UInt8]]) {
        (self.chain, self.known) = (chain, known)
    }

    func isDone(_ name: String) -> Bool {
        chain.place(of: name).map { chain.machine.slots[$0].isDone } ?? false
    }

    func find(_ name: String) throws -> [UInt8] {
        if let bytes = known[name] { return bytes }
        if let bytes = chain.place(of: name).flatMap({ chain.outputs[$0] }) { return bytes }
        missing = name
        throw ChainOutputs.Missing(name: name)
    }
}
