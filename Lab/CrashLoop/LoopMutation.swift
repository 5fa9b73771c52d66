import Foundation

/// A promise that a child breaks on purpose: the proof that the loop would see it.
///
/// Set in the environment of these test processes alone; nothing that ships knows of it.
enum LoopMutation: String, CaseIterable {
    /// A device acknowledges a message and performs the effect a little later.
    case acknowledgeBeforeEffect
    /// A device answers `isApplied` without looking.
    case forgetEffects
    /// The server acknowledges and fans out what it stores a little later.
    case acknowledgeBeforeCommit

    static let variable = "REPRISE_CRASH_MUTATION"

    static let current = ProcessInfo.processInfo.environment[variable].flatMap(LoopMutation.init)
}
