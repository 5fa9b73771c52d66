/// Decides which kinds of entries may be dispatched, and what happens to an entry at its bound.
///
/// A gate belongs to a kind, not to an entry, so one held entry costs as much as a million: entries
/// wait in the journal. `closed → open` with the last condition that a kind requires, `open →
/// closed` with the first one that is lost.
package struct GateMachine: Sendable {
    package enum Action: Hashable, Sendable {
        /// Start dispatching entries of this kind.
        case open(kind: String)
        /// Stop dispatching; entries in flight stay in flight.
        case close(kind: String)
    }

    package enum Disposition: Hashable, Sendable {
        case dispatch
        case hold
        case expire
    }

    private var kinds: [String: EntryKind] = [:]
    private var ready: Set<Readiness> = []

    package init(kinds: [EntryKind]) {
        for kind in kinds { self.kinds[kind.name] = kind }
    }

    /// The conditions that hold now.
    package var readiness: Set<Readiness> { ready }

    /// The kinds whose gate is open, sorted by name.
    package var openKinds: [String] {
        kinds.values.filter { isOpen($0) }.map(\.name).sorted()
    }

    package mutating func readinessOpened(_ condition: Readiness) -> [Action] {
        guard ready.insert(condition).inserted else { return [] }
        return touched(by: condition).filter { isOpen($0) }.map { .open(kind: $0.name) }
    }

    package mutating func readinessClosed(_ condition: Readiness) -> [Action] {
        let before = touched(by: condition).filter { isOpen($0) }
        guard ready.remove(condition) != nil else { return [] }
        return before.map { .close(kind: $0.name) }
    }

    /// What to do with an entry now.
    ///
    /// The bound decides about an entry past its bound, even if its gate has just opened: a form
    /// for an event an hour old may be wrong to show.
    ///
    /// - Parameters:
    ///   - name: the entry's kind; an undeclared one is held.
    ///   - bound: when its wait ends, if it does.
    ///   - now: the calendar's time.
    ///   - mayExpire: whether the calendar is trusted; see `WallClockGuard`.
    /// - Returns: what to do.
    package func disposition(kind name: String, bound: WallTime?, now: WallTime, mayExpire: Bool)
        -> Disposition
    {
        guard let kind = kinds[name] else { return .hold }
        if mayExpire, let bound, bound <= now, let action = kind.bound?.then {
            switch action {
            case .expire: return .expire
            case .deliver: return .dispatch
            }
        }
        return isOpen(kind) ? .dispatch : .hold
    }

    /// Whether entries of this kind may be dispatched now.
    package func isOpen(kind name: String) -> Bool { kinds[name].map(isOpen) ?? false }

    private func isOpen(_ kind: EntryKind) -> Bool { kind.requires.isSubset(of: ready) }

    private func touched(by condition: Readiness) -> [EntryKind] {
        kinds.values.filter { $0.requires.contains(condition) }.sorted { $0.name < $1.name }
    }
}
