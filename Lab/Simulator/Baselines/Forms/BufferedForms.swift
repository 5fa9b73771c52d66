/// `case-push-form` transcribed: events for a web view that is not ready wait in memory and are
/// replayed at last after 3 s.
///
/// Quotes are the case study's. Nothing here reaches a disk: the original's two arrays are all that
/// it keeps.
package struct BufferedForms {
    /// How far the original's own repair has come.
    package enum Version: Hashable, CaseIterable, Sendable {
        /// Before the repair: an optional chain that does nothing while there is no web view.
        case first
        /// Both changes, letter by letter.
        case repaired
        /// Kinder than the letter: what comes while a replay is awaited joins the buffer, where the
        /// original's guard would hand it to a page without data.
        case atItsBest
    }

    package enum Action: Hashable, Sendable {
        /// `evaluateJavaScript("dispatchProfileEvent…")`.
        case dispatch(event: Int)
        /// `try? await Task.sleep(nanoseconds: 100_000_000)`.
        case sleep(Duration)
    }

    /// `let formsDataTimeout: TimeInterval = 3.0`.
    package static let formsDataTimeout: Duration = .seconds(3)
    /// The pause between two looks at `isFormsDataLoaded`.
    package static let lookInterval: Duration = .milliseconds(100)

    private let version: Version
    private var isInitialized = false
    private var hasViewController = false
    private var isFormsDataLoaded = false
    /// When the loop `while !isFormsDataLoaded` began; nil: it does not run.
    private var waitStarted: Duration?
    private var hasReplayed = false
    /// "Event added to pendingRequests (NOT published yet)".
    private var pendingRequests: [Int] = []
    /// `pendingEvents.append(event)  // Buffer it!`.
    private var pendingEvents: [Int] = []

    package init(_ version: Version) { self.version = version }

    /// `create(event:)`, from the app or from `handle(notificationResponse:)`.
    package mutating func eventCreated(_ event: Int) -> [Action] {
        guard isInitialized else {
            pendingRequests.append(event)
            return []
        }
        return publish(event)
    }

    /// "SDK initialization completes": what waited is published.
    package mutating func initialized() -> [Action] {
        isInitialized = true
        defer { pendingRequests = [] }
        return pendingRequests.flatMap { publish($0) }
    }

    /// "Webview created ✅ └─ viewController exists!".
    package mutating func webViewCreated() { hasViewController = true }

    /// "Handshake complete".
    package mutating func handshakeCompleted(at now: Duration) -> [Action] {
        switch version {
        case .first: return []  // nothing was buffered, nothing is replayed
        case .repaired, .atItsBest:
            waitStarted = now  // "DON'T REPLAY YET! └─ Start 3-second wait timer"
            return look(at: now)
        }
    }

    /// JavaScript has loaded the forms; the loop sees it at its next look.
    package mutating func formsDataLoaded() { isFormsDataLoaded = true }

    /// The loop's sleep is over.
    package mutating func sleepEnded(at now: Duration) -> [Action] {
        guard let waitStarted else { return [] }
        if now - waitStarted > Self.formsDataTimeout { return replay() }
        return look(at: now)
    }

    private mutating func publish(_ event: Int) -> [Action] {
        switch version {
        case .first:
            // `viewController?.evalJS()`: "Optional chaining = nil, event SILENTLY LOST"
            return hasViewController ? [.dispatch(event: event)] : []
        case .repaired:
            guard hasViewController else {
                pendingEvents.append(event)
                return []
            }
            return [.dispatch(event: event)]
        case .atItsBest:
            guard hasViewController, hasReplayed else {
                pendingEvents.append(event)
                return []
            }
            return [.dispatch(event: event)]
        }
    }

    /// `while !isFormsDataLoaded`.
    private mutating func look(at now: Duration) -> [Action] {
        isFormsDataLoaded ? replay() : [.sleep(Self.lookInterval)]
    }

    /// `await replayPendingEvents()`.
    private mutating func replay() -> [Action] {
        waitStarted = nil
        hasReplayed = true
        defer { pendingEvents = [] }
        return pendingEvents.map { .dispatch(event: $0) }
    }
}
