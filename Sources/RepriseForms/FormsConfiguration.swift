public import Foundation
package import Logging
public import RepriseCore

extension Forms {
    /// Options of forms.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// The rules for events by their names; an event without rules waits for ever and is shown
        /// again.
        ///
        /// At most 256.
        public var events: [FormsEvent] = []
        /// The company whose catalogue is shown, until ``Forms/use(company:)`` changes it.
        public var company = "default"
        /// The channel to which answers are sent.
        ///
        /// Answers are personal: choose one that its senders cannot read.
        public var answers = "forms-answers"
        /// Receives expired events whose rules declare ``FormsEvent/AtItsEnd/deliver``, if no page
        /// is ready.
        ///
        /// If it throws, it is called again, like any handler.
        public var late: (@Sendable (FormsOccurrence) async throws -> Void)?
        /// Decides whether a form may be shown, before anything is drawn; nil: always.
        ///
        /// Called once the form's conditions hold, for one form at a time. An answer after
        /// ``willAppearTimeout`` is ignored: the form is put off for a minute, and the app asked
        /// again. A kill before the answer is recorded asks again, too; a form that was granted and
        /// did not appear, because its page or the process ended, comes without another question.
        public var willAppear: (@Sendable (FormsAppearance) async -> FormsDecision)?
        /// How long ``willAppear`` may take.
        public var willAppearTimeout: Duration = .seconds(5)
        /// The zone of quiet times; called at each decision.
        public var zone: @Sendable () -> TimeZone = { DeviceZone.now }
        /// How forms look; nil: the standard theme.
        public var theme: FormsTheme?
        /// The language of the page's own texts, such as `en` or `pt-BR`.
        public var locale = "en"
        /// How long a page may take for its handshake, and for taking over a catalogue.
        public var helloTimeout: Duration = .seconds(10)
        /// Timeout for the page to report the outcome of an event.
        public var eventsTimeout: Duration = .seconds(30)
        /// How long a form may take to appear once it may.
        public var appearTimeout: Duration = .seconds(10)
        /// Interval between catalogue fetches while the app runs; it also fetches at the start and
        /// in the foreground.
        public var refresh: Duration = .seconds(3_600)

        package var logger = Logger.silent
        /// The clocks; a test sets a `ManualClock` of RepriseTesting.
        public var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
        package func check() throws {
            func bad(_ what: String) -> RepriseError { RepriseError(.badConfiguration, what) }
            guard events.count <= FormsEngineLimits.declaredEvents else {
                throw bad(
                    "At most \(FormsEngineLimits.declaredEvents) events have rules of their own.")
            }
            guard Set(events.map(\.name)).count == events.count else {
                throw bad("Two rules are for events of one name.")
            }
            guard willAppearTimeout > .zero, willAppearTimeout <= .seconds(60) else {
                throw bad("The app has more than no time, and at most a minute, for willAppear.")
            }
            try theme?.check()
            for event in events {
                guard FormsEvent.isName(event.name) else {
                    throw bad("\(event.name.prefix(64)) is no name of an event.")
                }
                guard event.then != .deliver || event.timeToLive == nil || late != nil else {
                    throw bad(
                        "Events \(event.name) are to be delivered when their time is up, and "
                            + "nobody takes them: set late.")
                }
            }
        }
    }
}
