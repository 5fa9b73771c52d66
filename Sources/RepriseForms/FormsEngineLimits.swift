/// Limits of the forms feature; `docs/limits/forms.md` lists each with its effect.
public enum FormsEngineLimits {
    /// The most kinds of events with rules of their own.
    public static let declaredEvents = 256
    /// The most events in flight to the page.
    public static let inFlight = 256
    /// The longest postponement of an event whose form is not due yet, in seconds: no trigger has a
    /// longer delay.
    public static let postponement = 86_400
    /// The shortest postponement.
    static let shortestPostponement = Duration.seconds(1)
    /// The most events, and bytes of properties, in one message to the page.
    public static let eventsPerMessage = 64
    /// The most bytes of properties in one message to the page.
    public static let bytesPerMessage = 1_048_576
    /// The most bytes of a message of the page.
    public static let pageMessage = 65_536
    /// The most bytes of a submit, and of an action: it may emit an event with properties.
    public static let submit = 262_144
    /// The most messages of the page that wait to be read.
    public static let pageMessages = 1_024
    /// How often in a minute a web view is replaced.
    public static let replacements = 3
    /// How often a page may die with one event alone in flight before the event is a dead letter.
    public static let deathsOfOneEvent = 5
    /// The most bytes of a deep link.
    public static let deepLink = 4_000
    /// The most deep links delivered ahead of the loop that reads them.
    public static let deepLinksAhead = 16
    /// The most attributes of a person.
    public static let attributes = 100
    /// The most bytes of an attribute that is a text.
    public static let attributeText = 1_024
    /// The most names of events, and of forms by what became of them, that are counted.
    public static let pastNames = 5_000
    /// The most decisions that are kept of an event.
    public static let decisionsOfEvent = 16
    /// The most characters of the app's reason for not showing a form.
    public static let vetoCharacters = 200
    /// How long a form is put off about which the app did not decide in time.
    public static let undecided = Duration.seconds(60)
    /// How long the end of a run waits for its page to close.
    static let closing = Duration.seconds(5)
    /// The shortest time that a showing is kept.
    static let showingsKept = Duration.seconds(86_400)
}
