import RepriseChains

/// What mutations do to a decision.
extension ChainWrites {
    /// The mutation `chainItemLost`.
    mutating func loseItem() {
        for index in changes.indices {
            guard case .expanded(var expansion) = changes[index].1,
                expansion.added.popLast() != nil
            else { continue }
            expansion.count -= 1
            changes[index].1 = .expanded(expansion)
        }
    }

    /// The mutation `chainCompensatesInStartOrder`.
    mutating func compensateOldest(of chain: LiveChain) {
        guard let index = intents.firstIndex(where: \.isCompensation) else { return }
        let place = intents[index].place
        var slots = chain.machine.slots
        let first = slots.firstIndex {
            $0.canCompensate && $0.state == .succeeded && $0.compensation == .none
        }
        guard let first, first < place else { return }
        (slots[first].compensation, slots[place].compensation) = (.intended, .none)
        chain.machine = ChainMachine(state: chain.machine.state, slots: slots)
        chain.tasks[first].round += 1
        chain.inputs[first] = chain.inputs.removeValue(forKey: place)
        intents[index].place = first
        intents[index].round = chain.tasks[first].round
    }
}

extension ChainWrites.Change {
    var isExpanded: Bool {
        if case .expanded = self { return true }
        return false
    }
}
