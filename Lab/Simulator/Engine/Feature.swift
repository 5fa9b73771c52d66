/// What a run can have besides faults: where runs differ, the share that has each of them is
/// printed.
package enum Feature: String, CaseIterable, Hashable, Sendable {
    // Everything at once.
    case large
    // The server asks who everybody is.
    case users
    // Readers of each kind, whose handlers had something.
    case inside, asking, again, never, inOrder, inOrderInside
    // What devices publish.
    case outbox, edits, deletions
    // What the server had no more, and what the app stored instead.
    case lost, snapshots
    // A reminder whose quiet hours postpone it; a clock that is set while phones run.
    case postponed, clockSet
}
