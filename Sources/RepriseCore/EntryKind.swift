/// The rules for one sort of entry, declared once by the app: when it may be handed over, how long
/// it is worth waiting, and what to do when it goes wrong.
///
/// ```swift
/// let taps = EntryKind(
///     "push.tap", requires: [.store, .ui], bound: .init(after: .seconds(3_600), then: .expire))
/// ```
public struct EntryKind: Hashable, Sendable {
    /// What happens to an entry that is still held when its time is up.
    public struct Bound: Hashable, Sendable {
        /// What is done at the bound.
        public enum Action: String, Hashable, Sendable {
            /// The entry ends as `expired`.
            case expire
            /// The entry is handed over although its gate is closed.
            case deliver
        }

        /// How long after it was recorded.
        public var after: Duration
        /// What then.
        public var then: Action

        /// Makes a bound.
        ///
        /// - Parameters:
        ///   - after: how long after it was recorded.
        ///   - then: what then.
        public init(after: Duration, then: Action) {
            self.after = after
            self.then = then
        }
    }

    /// What happens to an entry whose handler was running when the process died: nobody knows
    /// whether its effect took place (promise 4).
    public enum Interruption: String, Hashable, Sendable {
        /// It is handed over again; the handler sees `attempt > 1`.
        case again
        /// It is never handed over again and ends as `unconfirmed`.
        case never
    }

    /// What happens at sign-in to an entry that was recorded before anybody had signed in.
    public enum AnonymousEntry: String, Hashable, Sendable {
        /// It moves into the journal of whoever signs in.
        case adopt
        /// It ends as `expired`.
        case expire
    }

    /// The name, at most 64 bytes; part of the journal's format.
    public var name: String
    /// The readiness that must be open, all of it, before a hand-over.
    public var requires: Set<Readiness>
    /// What bounds the wait; nil holds for ever.
    public var bound: Bound?
    /// How often a handler may fail before the entry is a dead letter; at least 1.
    public var attemptLimit: Int
    /// The waits between attempts.
    public var backoff: Backoff
    /// What an interrupted hand-over becomes.
    public var onInterruption: Interruption
    /// What an entry recorded before sign-in becomes.
    public var beforeSignIn: AnonymousEntry
    /// How many entries of this kind may be in hand at the same time; at least 1.
    public var parallel: Int
    /// How many entries of one lane may be in hand at the same time; at least 1.
    ///
    /// With more than 1 they are still handed over in the order recorded, and one that has to wait
    /// for another attempt holds up those behind it that are not in hand yet.
    public var laneWindow: Int
    /// Whether the kinds that are named after this one, as `forms.tap` is after `forms`, are its
    /// family.
    ///
    /// A family has one handler, one gate and one order: what was recorded first is handed over
    /// first, whatever its kind in the family. An entry whose kind is named after this one and not
    /// declared (an older or newer version of the app recorded it) is of this kind.
    package var isFamily = false

    /// Declares a kind.
    ///
    /// - Parameters:
    ///   - name: the name, at most 64 bytes.
    ///   - requires: readiness that must be open before a hand-over.
    ///   - bound: what bounds the wait; nil holds for ever.
    ///   - attemptLimit: attempts before it is a dead letter.
    ///   - backoff: the waits between attempts.
    ///   - onInterruption: what an interrupted hand-over becomes.
    ///   - beforeSignIn: what an entry recorded before sign-in becomes.
    ///   - parallel: how many may be in hand at the same time.
    ///   - laneWindow: how many of one lane may be in hand at the same time; it stays 1 where the
    ///     bound delivers.
    public init(
        _ name: String, requires: Set<Readiness> = [], bound: Bound? = nil, attemptLimit: Int = 10,
        backoff: Backoff = Backoff(), onInterruption: Interruption = .again,
        beforeSignIn: AnonymousEntry = .adopt, parallel: Int = 1, laneWindow: Int = 1
    ) {
        self.name = name
        self.requires = requires
        self.bound = bound
        self.attemptLimit = max(1, attemptLimit)
        self.backoff = backoff
        self.onInterruption = onInterruption
        self.beforeSignIn = beforeSignIn
        self.parallel = max(1, parallel)
        // What its bound releases would overtake what that has not released yet.
        self.laneWindow = bound?.then == .deliver ? 1 : max(1, laneWindow)
    }
}
