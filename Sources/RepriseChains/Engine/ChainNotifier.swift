/// Decides which chain's notification is brought up to date next, one at a time.
///
/// Results come first: they are in the rows until each was shown. Of the progress of each chain the
/// newest waits, and a second lies between two.
package struct ChainNotifier: Sendable {
    package enum Action: Hashable, Sendable {
        /// Show the results in the rows that were not shown yet, a page of them.
        case showResults
        /// Remove the notifications of chains that have left.
        case removeUnknown
        case show(ChainChange)
        /// Ask again then, or after the next event.
        case wait(until: Duration)
        case none
    }

    /// What became of the last action.
    package enum Outcome: Hashable, Sendable {
        case done
        /// There may be more of the same.
        case more
        case failed
    }

    private var hasResults = true
    private var hasUnknown = true
    private var progress = NewestChanges(limit: ChainsLimits.unreadChanges)
    /// The action under way.
    private var current: Action?
    /// Not before: the next progress; results and removals after a failure.
    private var (due, retry) = (Duration.zero, Duration.zero)

    package init() {}

    /// Whether all results were shown, or nobody can show them now.
    package var isQuiet: Bool { !hasResults && current != .showResults }

    /// A chain has changed; its end is in its row once it is written.
    package mutating func changed(_ change: ChainChange) {
        guard change.progress.state.isEnd else { return progress.put(change) }
        progress.remove(change.id)
        hasResults = true
    }

    /// Chains were removed.
    package mutating func removed() { hasUnknown = true }

    package mutating func next(at now: Duration) -> Action {
        guard current == nil else { return .none }
        let action = choose(at: now)
        switch action {
        case .showResults: hasResults = false
        case .removeUnknown: hasUnknown = false
        case .show: break
        case .wait, .none: return action
        }
        current = action
        return action
    }

    private mutating func choose(at now: Duration) -> Action {
        let isLate = hasResults || hasUnknown
        if isLate, retry <= now { return hasResults ? .showResults : .removeUnknown }
        if due <= now, let change = progress.take() { return .show(change) }
        if !progress.isEmpty { return .wait(until: isLate ? min(due, retry) : due) }
        return isLate ? .wait(until: retry) : .none
    }

    /// The action that ``next(at:)`` has named is over.
    package mutating func ended(_ outcome: Outcome, at now: Duration) {
        defer { current = nil }
        switch current {
        case .showResults where outcome != .done: hasResults = true
        case .removeUnknown where outcome != .done: hasUnknown = true
        case .show: due = now + ChainsLimits.notificationInterval
        case .showResults, .removeUnknown, .wait, nil, .some(.none): break
        }
        if outcome == .failed { retry = now + ChainsLimits.notificationRetry }
    }
}
