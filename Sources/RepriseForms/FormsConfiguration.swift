package import RepriseCore

extension Forms {
    /// What can be set about forms.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// The rules for events by their names; an event without rules waits for ever and is shown
        /// again.
        ///
        /// At most 256.
        public var events: [FormsEvent] = []
        /// Whose catalogue is shown, until ``Forms/use(company:)`` says otherwise.
        public var company = "default"
        /// The channel to which answers are sent.
        ///
        /// Make it one that those who write in it cannot read: answers are a person's own.
        public var answers = "forms-answers"
        /// Gets events whose rules say ``FormsEvent/AtItsEnd/deliver``, when their time is up and
        /// there is no page for them.
        ///
        /// What it throws has it called again, as with any handler.
        public var late: (@Sendable (FormsOccurrence) async throws -> Void)?
        /// What the page has to say to people comes in this language, as in `en` or `pt-BR`.
        public var locale = "en"
        /// How long a page may take for its handshake, and for taking over a catalogue.
        public var helloPatience: Duration = .seconds(10)
        /// How long a page may take to say what becomes of an event.
        public var eventsPatience: Duration = .seconds(30)
        /// How long a form may take to appear once it may.
        public var appearPatience: Duration = .seconds(10)
        /// How often the catalogue is asked for while the app runs; also at its start and whenever
        /// it comes to the foreground.
        public var refresh: Duration = .seconds(3_600)

        package var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
        package func check() throws {
            func bad(_ what: String) -> RepriseError { RepriseError(.badConfiguration, what) }
            guard events.count <= FormsDoorLimits.declaredEvents else {
                throw bad(
                    "At most \(FormsDoorLimits.declaredEvents) events have rules of their own.")
            }
            guard Set(events.map(\.name)).count == events.count else {
                throw bad("Two rules are for events of one name.")
            }
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
