package import GRDB
public import RepriseCore
package import RepriseJournal
import RepriseWire

/// The door for forms: events and taps on notifications come in, and wait for a page that can show
/// a form for them.
///
/// The facade makes one; see `Reprise`.
///
/// ```swift
/// try await forms.record("checkout", properties: #"{"total": 12}"#)  // durable when it returns
/// try await forms.run(webViews: host, catalogue: CatalogueSource(server: server, fetcher: fetcher))
/// ```
public final class Forms: Sendable {
    /// Records answers for the server, in a transaction that is under way.
    package typealias Answers = @Sendable (_ json: [UInt8], _ id: EntryID, Database) throws -> Void

    let driver: FormsDriver
    private let links: LentQueue<DeepLink>

    private var journal: Journal { driver.store.journal }

    /// The kinds of entries that this door records, for `Journal.open`.
    ///
    /// - Parameter configuration: with the rules for events.
    /// - Returns: a kind for each of them, and one for the others.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        FormsEvent.kinds(configuration.events)
    }

    /// Makes the door.
    ///
    /// - Parameters:
    ///   - journal: opened with ``kinds(_:)`` and ``schema``.
    ///   - configuration: what can be set, checked before.
    ///   - answers: takes what people answer; nil: forms with a submit are refused.
    package init(
        journal: Journal, configuration: Configuration = Configuration(), answers: Answers? = nil
    ) {
        driver = FormsDriver(journal: journal, configuration: configuration, answers: answers)
        links = DeepLinks.queue(journal)
    }

    // MARK: What comes in

    /// Records an event; returns once it is durable.
    ///
    /// It may be called before anything else is ready: the event waits for a page with a catalogue.
    ///
    /// - Parameters:
    ///   - name: 1 to 56 characters of `A–Z a–z 0–9 . _ -`.
    ///   - properties: a JSON object of at most 65,536 bytes.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id, by which ``RepriseJournal/Journal/entry(_:)`` says what became of it.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.full`, and what the
    ///   journal throws.
    @discardableResult
    public func record(
        _ name: String, properties: String = "{}", id: EntryID = .random()
    ) async throws -> EntryID {
        let content = try EventContent(name: name, properties: Array(properties.utf8))
        try await journal.record(content.entry(id: id, source: "app"))
        return id
    }

    /// Records what a person did with a notification; returns once it is durable, and then the
    /// system's completion handler may be called.
    ///
    /// The event is `opened_push` for a tap, `acted_push` for an action and `dismissed_push` for a
    /// dismissal, with what the notification carried as its properties (and, for an action, its
    /// name as `action`). The same tap through two entrances of the app is one event. Where the
    /// journal cannot be written it is left in the spool, just as durable, and merged as soon as it
    /// can be.
    ///
    /// - Parameter response: what the system said.
    /// - Returns: the event's id.
    /// - Throws: as ``record(_:properties:id:)``.
    @discardableResult
    public func received(_ response: NotificationResponse) async throws -> EntryID {
        let entry = try EventContent(response).entry(id: response.tapID, source: "tap")
        try await journal.write(orSpool: entry) { [journal] db in
            try journal.record(entry, in: db)
        }
        return response.tapID
    }

    // MARK: Running

    /// Opens a web view, hands events to its page and takes what it says, until the task is
    /// cancelled.
    ///
    /// A web view that dies is replaced, and gets what the one before had not finished.
    ///
    /// - Parameters:
    ///   - webViews: makes web views.
    ///   - catalogue: where catalogues come from. The one that came last is shown at once, and
    ///     without a network.
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `.badConfiguration` if
    ///   it runs already; `.malformed` for a catalogue of the app's own that cannot be read,
    ///   `.badAddress` for a server that cannot be asked. Cancellation is no error.
    public func run(webViews: any WebViewHost, catalogue: CatalogueSource) async throws {
        try catalogue.check()
        try await driver.run(webViews, catalogue)
    }

    /// The places that forms lead to.
    public var deepLinks: DeepLinks { DeepLinks(queue: links) }

    /// Where the door stands now.
    public var state: FormsState { driver.states.value }

    /// Where the door stands: first now, then each change.
    ///
    /// Who reads slowly gets the newest 64.
    public var states: AsyncStream<FormsState> { driver.states.watch() }

    /// Every number of the door as of now; costs nothing while nobody asks.
    public var insight: FormsInsight { get async { await driver.insight } }

    /// Takes the form away that is on the screen, as its close button does.
    public func dismiss() { _ = driver.inbox.put(.dismiss) }

    /// Asks for the catalogue now; a push may have said that there is a new one.
    public func refresh() { driver.reason.raise() }

    // MARK: Whose they are

    /// Says who the person is.
    ///
    /// What was recorded while nobody was known goes along. What belonged to another user ends as
    /// `dead`, with the reason `loggedOut`; how often forms were shown is forgotten, and the page
    /// of the former user is closed with its form.
    ///
    /// An app whose users sign in with `RepriseAccounts` needs none of this: each account has a
    /// journal of its own.
    ///
    /// - Parameter user: the app's name for the user, sent with the answers; 1 to 256 bytes.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, and what the journal throws.
    public func identify(_ user: String) async throws {
        guard (1...256).contains(user.utf8.count) else {
            throw RepriseError(.malformed, "The name of a user has 1 to 256 bytes.")
        }
        try await change(.identify(user))
    }

    /// Nobody is known any more: see ``identify(_:)`` for what becomes of the former user's events.
    ///
    /// Answers that wait to be sent are sent still.
    ///
    /// - Throws: what the journal throws.
    public func logOut() async throws { try await change(.logOut) }

    /// Shows the forms of another company from now on.
    ///
    /// Events that wait end as `superseded`; showings and the catalogue of the former company are
    /// forgotten.
    ///
    /// - Parameter company: a key of the server: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, and what the journal throws.
    public func use(company: String) async throws {
        guard (try? ChannelName(company)) != nil else {
            throw RepriseError(.badConfiguration, "\(company.prefix(128)) is no key of a company.")
        }
        try await change(.use(company: company, standard: driver.configuration.company))
    }

    private func change(_ change: FormsChange) async throws {
        try await withCheckedThrowingContinuation { continuation in
            guard !driver.inbox.put(.changed(change, continuation)) else { return }
            Task { [driver] in
                do {
                    _ = try await driver.store.change(change.apply)
                    continuation.resume()
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }
}

extension Forms: AppLife {
    /// The app is in the background: a page that does not answer there is not replaced for it.
    ///
    /// - Parameter granted: is not needed.
    public func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: the catalogue is asked for again.
    public func foreground() async { await enter(.foreground)() }

    /// Keeps what it has: a page that shows a form is not closed for its memory.
    public func memoryPressure() async {}
}

extension EventContent {
    /// A tap must not be lost because somebody sent a payload that is none.
    fileprivate init(_ response: NotificationResponse) throws {
        var properties = response.notification.request.content.info
        if (try? JSONMembers.check(properties)) == nil { properties = Array("{}".utf8) }
        switch response.action {
        case .open: try self.init(name: "opened_push", properties: properties)
        case .dismiss: try self.init(name: "dismissed_push", properties: properties)
        case .button(let action), .text(let action, _):
            try self.init(name: "acted_push", properties: Self.naming(action, properties))
        }
    }

    /// The object with one member more, which one of its own of that name overrules.
    private static func naming(_ action: String, _ properties: [UInt8]) -> [UInt8] {
        guard let start = properties.firstIndex(of: UInt8(ascii: "{")) else { return properties }
        var member = JSONWriter()
        member.string(action)
        let rest = properties[(start + 1)...]
        let isEmpty = rest.first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) } == UInt8(ascii: "}")
        return Array(#"{"action":"#.utf8) + member.bytes + (isEmpty ? [] : [UInt8(ascii: ",")])
            + rest
    }
}

extension Forms: AppLifeFollower {
    package func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        switch phase {
        case .foreground:
            _ = driver.inbox.put(.woke)
            return {}
        case .background:
            _ = driver.inbox.put(.slept)
            // Whatever the page has answered is written down behind this.
            return { [journal] in try? await journal.write { _ in } }
        }
    }

    /// Whether it has been told that the app is in the background.
    package var isAsleep: Bool { get async { await driver.machine.isAsleep } }
}
