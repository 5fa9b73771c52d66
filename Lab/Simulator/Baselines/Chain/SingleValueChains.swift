/// `case-task-chain` transcribed: the positions of all chains are one value, saved whole after each
/// step.
///
/// Quotes are the case study's. Kinder than it: a chain whose first save fails is refused, not run
/// without a record ("If save fails, logs error"); what could not be saved is in the next save,
/// because the states are kept in memory as well; a chain's tasks are told apart from those of any
/// other.
package struct SingleValueChains {
    package enum Version: Hashable, CaseIterable, Sendable {
        /// "Before: iOS chains executed in a single session": the app starts them again from
        /// the beginning.
        case first
        /// The `ChainStateManager`.
        case repaired
    }

    /// `struct ChainState`, but for the names and settings that decide nothing.
    package struct ChainState: Codable, Hashable, Sendable {
        package var chainId: Int
        /// How many tasks each step has; they run in parallel.
        package var steps: [Int]
        /// "0-indexed, tracks progress".
        package var currentStep: Int
        /// Milliseconds of the calendar.
        package var lastUpdatedAt: Int64

        package init(chainId: Int, steps: [Int], currentStep: Int, lastUpdatedAt: Int64) {
            self.chainId = chainId
            self.steps = steps
            self.currentStep = currentStep
            self.lastUpdatedAt = lastUpdatedAt
        }
    }

    package struct Task: Hashable, Sendable {
        package var chain: Int
        package var step: Int
        package var number: Int

        package init(chain: Int, step: Int, number: Int) {
            self.chain = chain
            self.step = step
            self.number = number
        }
    }

    package enum Action: Hashable, Sendable {
        /// `saveChainState(_:)`: the whole array, as one value of one key. "If save fails,
        /// logs error": nobody waits for an answer.
        case save([ChainState])
        /// The same for a chain that is new, and waited for: answer with
        /// ``SingleValueChains/newChainSaved(_:)``.
        case saveNew([ChainState])
        case run(Task)
        /// The chain ended, and its state was removed.
        case ended(chain: Int, failed: Bool)
    }

    /// "Abandoned chains: Auto-deleted after 7 days of inactivity".
    package static let retention: Int64 = 7 * 86_400_000

    private let version: Version
    private var states: [ChainState] = []
    /// Tasks of the step in flight that have not finished, by chain.
    private var running: [Int: Int] = [:]

    package init(_ version: Version) { self.version = version }

    /// `handleInitialize()`, with what the one value holds; nil: it could not be read.
    package mutating func launched(with saved: [ChainState]?, at wall: Int64) -> [Action] {
        guard version == .repaired else { return [] }
        guard let saved else {
            states = []
            return [.save([])]  // "returns empty array and clears storage"
        }
        // `loadResumableChains()`: "all incomplete, non-expired chains", `cleanupOldStates()`.
        states = saved.filter { wall - $0.lastUpdatedAt <= Self.retention }
        let cleaned: [Action] = states.count == saved.count ? [] : [.save(states)]
        return cleaned + states.flatMap { run($0) }  // resumeChain
    }

    /// A chain is to begin.
    package mutating func chainCreated(_ id: Int, steps: [Int], at wall: Int64) -> [Action] {
        let state = ChainState(chainId: id, steps: steps, currentStep: 0, lastUpdatedAt: wall)
        states.append(state)
        switch version {
        case .first: return run(state)
        case .repaired: return [.saveNew(states)]
        }
    }

    /// What became of the first save of the newest chain: `try await` throws to the caller if
    /// it failed.
    package mutating func newChainSaved(_ succeeded: Bool) -> [Action] {
        guard let newest = states.last else { return [] }
        guard succeeded else {
            states.removeLast()
            return []
        }
        return run(newest)
    }

    package mutating func taskFinished(_ task: Task, succeeded: Bool, at wall: Int64) -> [Action] {
        guard let index = states.firstIndex(where: { $0.chainId == task.chain }),
            states[index].currentStep == task.step
        else { return [] }
        // "Removed immediately upon failure"
        guard succeeded else { return end(index, failed: true) }
        running[task.chain, default: 1] -= 1
        // "Update state on completion" of the step
        guard running[task.chain] == 0 else { return [] }
        states[index].currentStep += 1  // advanceToNextStep
        states[index].lastUpdatedAt = wall
        guard states[index].currentStep < states[index].steps.count else {
            // markChainCompleted, "Removed immediately"
            return end(index, failed: false)
        }
        // "If save fails, logs error but doesn't crash chain execution": nobody waits for the
        // answer.
        return save() + run(states[index])
    }

    private mutating func end(_ index: Int, failed: Bool) -> [Action] {
        let state = states.remove(at: index)
        running[state.chainId] = nil
        return save() + [.ended(chain: state.chainId, failed: failed)]
    }

    private func save() -> [Action] { version == .repaired ? [.save(states)] : [] }

    /// All tasks of a step at once; which of them had finished before is not written anywhere.
    private mutating func run(_ state: ChainState) -> [Action] {
        guard state.currentStep < state.steps.count else { return [] }
        let count = state.steps[state.currentStep]
        running[state.chainId] = count
        return (0..<count).map {
            .run(Task(chain: state.chainId, step: state.currentStep, number: $0))
        }
    }
}
