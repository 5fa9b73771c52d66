/// State of the forms feature.
public enum FormsState: Hashable, Sendable {
    /// It does not run.
    case idle
    /// A web view is being made.
    case opening
    /// The web view is there; its page has not said hello.
    case handshaking
    /// The page is there and has no catalogue: events wait.
    case waitingForCatalogue
    /// Events go to the page.
    case ready
    /// This form is on the screen. Events go to the page.
    case showing(String)
    /// Too many web views were lost in a minute; the next is made when the minute is over. Events
    /// wait.
    case stalled
    /// The page is of another time than this library. Events wait.
    case incompatible
}

/// Figures of the forms feature, for a debug view; counters begin when the journal is opened.
public struct FormsDiagnostics: Hashable, Sendable {
    /// The current state.
    public internal(set) var state: FormsState
    /// The catalogue that the page uses.
    public internal(set) var catalogue: String?
    /// Events in flight to the page.
    public internal(set) var inFlight = 0
    /// Outcomes of events and messages.
    public internal(set) var tally = FormsTally()
    /// Why the catalogue could not be fetched the last time; nil: it could.
    public internal(set) var catalogueFault: String?
}

/// Counters of the forms feature.
public struct FormsTally: Hashable, Sendable {
    /// How an event ended.
    public enum Ending: String, Hashable, Sendable, CaseIterable {
        /// No form is for it.
        case noMatch
        /// Its form has appeared.
        case shown
        /// Its form was not shown: too often already, or too many wait.
        case suppressed
        /// The page found it too old.
        case expired
        /// The page could not evaluate it, or died of it: a dead letter.
        case error
        /// Its form may have appeared, and its rules forbid a second try.
        case unconfirmed
        /// The app got it, instead of a form.
        case late
        /// The app did not let its form be shown.
        case vetoed
    }

    /// How events ended.
    public internal(set) var endings: [Ending: Int] = [:]
    /// Web views that were made again.
    public internal(set) var replacements = 0
    /// How often the page returned an event because its form's time was far off; the journal keeps
    /// it until then.
    public internal(set) var postponed = 0
    /// How often the app or a quiet time put a form off.
    public internal(set) var putOff = 0
    /// Questions to the app about a form that it did not answer in time.
    public internal(set) var undecided = 0
    /// Messages with a wrong session.
    public internal(set) var forged = 0
    /// Messages that left a gap or came twice.
    public internal(set) var outOfOrder = 0
    /// Messages that could not be read, or came when they make no sense.
    public internal(set) var malformed = 0
    /// Messages of a type that is not known here.
    public internal(set) var unknown = 0
    /// Results for events that had already ended.
    public internal(set) var late = 0
    /// Catalogues that the page refused.
    public internal(set) var cataloguesRefused = 0
    /// Why a web view was replaced, a form not decided, a catalogue refused or a message not
    /// understood the last time.
    public internal(set) var lastFault: String?

    /// The page's last log line; never answers or properties.
    public internal(set) var lastLog: String?

    /// All counters at zero.
    public init() {}

    mutating func count(_ ending: Ending) { endings[ending, default: 0] += 1 }
}
