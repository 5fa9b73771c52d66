public import RepriseCore
import RepriseWire

/// Rules for events of one name: their time to live, and what to do if a showing is uncertain.
///
/// ```swift
/// configuration.forms?.events = [
///     FormsEvent("opened_push", timeToLive: .seconds(3_600), then: .expire)
/// ]
/// ```
///
/// An event without rules never expires and is shown again.
public struct FormsEvent: Hashable, Sendable {
    /// The outcome of an expired event that no page has received.
    public enum AtItsEnd: String, Hashable, Sendable {
        /// It ends as `expired`.
        case expire
        /// Dispatched to ``Forms/Configuration/late``, instead of a form.
        case deliver
    }

    /// The name: 1 to 56 characters of `A–Z a–z 0–9 . _ -`.
    public var name: String
    /// How long after recording it may be dispatched to a page; nil: for ever.
    public var timeToLive: Duration?
    /// The outcome after its time to live.
    public var then: AtItsEnd
    /// The policy if the process or the page died after a form was granted and before it appeared.
    public var onInterruption: EntryKind.Interruption

    /// Declares the rules.
    ///
    /// - Parameters:
    ///   - name: 1 to 56 characters of `A–Z a–z 0–9 . _ -`.
    ///   - timeToLive: how long after recording it may be dispatched; nil: for ever.
    ///   - then: what happens afterwards.
    ///   - onInterruption: whether a form is shown again if a crash left its showing uncertain.
    public init(
        _ name: String, timeToLive: Duration? = nil, then: AtItsEnd = .expire,
        onInterruption: EntryKind.Interruption = .again
    ) {
        self.name = name
        self.timeToLive = timeToLive
        self.then = then
        self.onInterruption = onInterruption
    }
}

extension FormsEvent {
    /// The kind of entries without rules of their own, whose family are those with rules.
    package static let family = "forms"
    /// The kind of deep links that wait for the app.
    package static let link = "forms-link"

    static func kindName(_ event: String) -> String { family + "." + event }

    /// Always `again` for the journal: a dispatch to the page shows nothing yet; the feature
    /// records each grant.
    static func kinds(_ events: [FormsEvent]) -> [EntryKind] {
        let gate: Set<Readiness> = [.sdk, .webView, .handshake, .formsData]
        var leader = EntryKind(family, requires: gate, parallel: FormsEngineLimits.inFlight)
        leader.isFamily = true
        let link = EntryKind(
            link, attemptLimit: .max, parallel: FormsEngineLimits.deepLinksAhead)
        return [leader, link]
            + events.map { event in
                EntryKind(kindName(event.name), requires: gate, bound: event.bound)
            }
    }

    private var bound: EntryKind.Bound? {
        timeToLive.map { .init(after: $0, then: then == .expire ? .expire : .deliver) }
    }

    static func isName(_ text: String) -> Bool {
        (1...FormsLimits.eventCharacters).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
