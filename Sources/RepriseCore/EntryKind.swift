/// The rules for one kind of entry, declared once by the app: when it may be dispatched, how long
/// to wait, and what to do when it fails.
///
/// ```swift
/// let taps = EntryKind(
///     "push.tap", requires: [.store, .ui], bound: .init(after: .seconds(3_600), then: .expire))
/// ```
public struct EntryKind: Hashable, Sendable {
    /// What happens to an entry that is still held at its bound.
    public struct Bound: Hashable, Sendable {
        /// The action at the bound.
        public enum Action: String, Hashable, Sendable {
            /// The entry ends as `expired`.
            case expire
            /// The entry is dispatched although its gate is closed.
            case deliver
        }

        /// How long after it was recorded.
        public var after: Duration
        /// The action at the bound.
        public var then: Action

        /// Makes a bound.
        ///
        /// - Parameters:
        ///   - after: how long after it was recorded.
        ///   - then: the action at the bound.
        public init(after: Duration, then: Action) {
            self.after = after
            self.then = then
        }
    }

    /// What happens to an entry whose handler was running when the process died: whether its effect
    /// took place is unknown (guarantee 4).
    public enum Interruption: String, Hashable, Sendable {
        /// It is dispatched again; the handler sees `attempt > 1`.
        case again
        /// It is never dispatched again and ends as `unconfirmed`.
        case never
    }

    /// What happens at sign-in to an entry that was recorded before any sign-in.
    public enum AnonymousEntry: String, Hashable, Sendable {
        /// It moves into the journal of the user who signs in.
        case adopt
        /// It ends as `expired`.
        case expire
    }

    /// The name, at most 64 bytes; part of the journal's format.
    public var name: String
    /// The readiness that must hold, all of it, before a dispatch.
    public var requires: Set<Readiness>
    /// The bound of the wait; nil waits for ever.
    public var bound: Bound?
    /// How many attempts may fail before the entry is a dead letter; at least 1.
    public var attemptLimit: Int
    /// The waits between attempts.
    public var backoff: Backoff
    /// What happens to an interrupted dispatch.
    public var onInterruption: Interruption
    /// What happens to an entry recorded before sign-in.
    public var beforeSignIn: AnonymousEntry
    /// How many entries of this kind may be in flight at once; at least 1.
    public var parallel: Int
    /// How many entries of one partition key may be in flight at once; at least 1.
    ///
    /// With more than 1, dispatch still follows the order recorded. An entry that waits for another
    /// attempt blocks those behind it that are not in flight yet.
    public var partitionWindow: Int
    /// Whether kinds named after this one, as `forms.tap` is after `forms`, belong to its family.
    ///
    /// A family has one handler, one gate and one order: entries are dispatched in the order
    /// recorded, whatever their kind in the family. An undeclared kind named after this one
    /// (recorded by an older or newer version of the app) is treated as this kind.
    package var isFamily = false

    /// Declares a kind.
    ///
    /// - Parameters:
    ///   - name: the name, at most 64 bytes.
    ///   - requires: readiness that must hold before a dispatch.
    ///   - bound: the bound of the wait; nil waits for ever.
    ///   - attemptLimit: attempts before it is a dead letter.
    ///   - backoff: the waits between attempts.
    ///   - onInterruption: what happens to an interrupted dispatch.
    ///   - beforeSignIn: what happens to an entry recorded before sign-in.
    ///   - parallel: how many may be in flight at once.
    ///   - partitionWindow: how many of one partition key may be in flight at once; stays 1 where
    ///     the bound delivers.
    public init(
        _ name: String, requires: Set<Readiness> = [], bound: Bound? = nil, attemptLimit: Int = 10,
        backoff: Backoff = Backoff(), onInterruption: Interruption = .again,
        beforeSignIn: AnonymousEntry = .adopt, parallel: Int = 1, partitionWindow: Int = 1
    ) {
        self.name = name
        self.requires = requires
        self.bound = bound
        self.attemptLimit = max(1, attemptLimit)
        self.backoff = backoff
        self.onInterruption = onInterruption
        self.beforeSignIn = beforeSignIn
        self.parallel = max(1, parallel)
        // An entry released by its bound would overtake those not released yet.
        self.partitionWindow = bound?.then == .deliver ? 1 : max(1, partitionWindow)
    }
}
