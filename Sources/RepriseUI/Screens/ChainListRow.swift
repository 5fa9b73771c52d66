import Foundation
public import Reprise

/// A chain in the list of the State Viewer.
public struct ChainListRow: Identifiable, Hashable, Sendable {
    /// The chain.
    public let id: ChainID
    /// The definition with its version, as in `import-photos 2`.
    public let title: String
    /// The unique name that it was started under; nil: none.
    public let name: String?
    /// Its state, in a word.
    public let state: String
    /// How the state stands out.
    public let tone: RowTone
    /// `3 of 8 tasks`.
    public let progress: String
    /// How much of it is done, 0 to 1.
    public let fraction: Double
    /// When it was started, and how it ended: `2026-11-21 23:00:07, took 3 min`.
    public let time: String
    /// Why it does not go on; nil: it does, or has succeeded.
    public let reason: String?

    init(_ status: ChainStatus, in zone: TimeZone) {
        id = status.id
        title = "\(status.definition) \(status.version)"
        name = status.name
        state = "\(status.state)"
        tone = status.state.tone
        progress = "\(status.done) of \(Int64(status.total).counted("task"))"
        fraction =
            status.total > 0 ? min(max(Double(status.done) / Double(status.total), 0), 1) : 0
        let took = status.endedAt.map { ", took \(status.startedAt.duration(to: $0).shown)" }
        time = status.startedAt.shown(in: zone) + (took ?? "")
        reason = status.reason
    }
}

/// What a person may do to a chain.
public enum ChainAction: String, Hashable, Sendable, CaseIterable, Identifiable {
    /// Running tasks are cancelled; their checkpoints are kept.
    case pause
    /// Goes on.
    case resume
    /// Runs again what is not done.
    case retry
    /// Ends it, and compensates its effects.
    case cancel

    /// Itself.
    public var id: Self { self }
    /// Its button.
    public var title: String { rawValue.capitalized }
    /// Whether it cannot be taken back: ask before.
    public var isDestructive: Bool { self == .cancel }

    /// What makes sense in a state, in the order of the buttons.
    ///
    /// - Parameter state: the chain's state.
    /// - Returns: none for a chain that has succeeded or cannot be read.
    public static func allowed(in state: ChainState) -> [ChainAction] {
        switch state {
        case .queued: [.cancel]
        case .running: [.pause, .cancel]
        case .paused, .suspended: [.resume, .cancel]
        // A second cancel ends a suspended compensation.
        case .failing: []
        case .cancelling: [.cancel]
        case .failed, .cancelled: [.retry]
        case .succeeded, .quarantined: []
        }
    }
}

extension ChainState {
    var tone: RowTone {
        switch self {
        case .running: .good
        case .queued, .succeeded, .cancelled: .plain
        case .paused, .suspended, .cancelling: .waiting
        case .failing, .failed, .quarantined: .bad
        }
    }
}
