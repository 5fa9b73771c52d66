package import GRDB
public import RepriseCore
public import RepriseJournal
import RepriseWire

/// The forms feature: records events and notification taps, and dispatches them to a page once it
/// can show a form.
///
/// `RepriseClient` makes one for each account.
///
/// ```swift
/// try await client.recordEvent("checkout", properties: Checkout(total: 12))  // durable
/// for await link in client.deepLinks { await router.open(link.url) }
/// try await client.forms.dismiss()
/// ```
public final class Forms: Sendable {
    /// Records answers for the server, in a transaction that is under way.
    package typealias Answers = @Sendable (_ json: [UInt8], _ id: EntryID, Database) throws -> Void

    let driver: FormsDriver
    private let links: DeliveryQueue<DeepLink>

    private var journal: Journal { driver.store.journal }

    /// The kinds of entries that this feature records, for `Journal.open`.
    ///
    /// - Parameter configuration: with the rules for events.
    /// - Returns: a kind for each rule, and one for all other events.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        FormsEvent.kinds(configuration.events)
    }

    /// Makes the feature.
    ///
    /// - Parameters:
    ///   - journal: opened with ``kinds(_:)`` and ``schema``.
    ///   - configuration: the options, already checked.
    ///   - answers: receives what people answer; nil: forms with a submit are refused.
    package init(
        journal: Journal, configuration: Configuration = Configuration(), answers: Answers? = nil
    ) {
        driver = FormsDriver(journal: journal, configuration: configuration, answers: answers)
        links = DeepLink.queue(journal)
    }

    // MARK: Recording

    /// The entry of an event, for a journal that may have no forms configured: there it waits.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`.
    package static func entry(_ name: String, properties: String, id: EntryID) throws -> NewEntry {
        try EventContent(name: name, properties: Array(properties.utf8)).entry(
            id: id, source: "app")
    }

    /// Records an event; returns once it is durable.
    ///
    /// May be called at any time: the event waits for a page with a catalogue.
    ///
    /// - Parameters:
    ///   - name: 1 to 56 characters of `A–Z a–z 0–9 . _ -`.
    ///   - properties: a JSON object of at most 65,536 bytes.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id; ``RepriseJournal/Journal/entry(_:)`` looks up its outcome.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.full`, and what the
    ///   journal throws.
    @discardableResult
    public func record(
        _ name: String, properties: String = "{}", id: EntryID = .random()
    ) async throws -> EntryID {
        try await journal.record(Self.entry(name, properties: properties, id: id))
        return id
    }

    /// Records a response to a notification; when it returns, the record is durable and the
    /// system's completion handler may be called.
    ///
    /// The event is `opened_push` for a tap, `acted_push` for an action and `dismissed_push` for a
    /// dismissal. Its properties are the notification's payload (and, for an action, its name as
    /// `action`). The same tap through two entry points of the app is one event. If the journal
    /// cannot be written, the event goes to the spool, equally durable, and is merged as soon as
    /// possible.
    ///
    /// - Parameter response: the system's notification response.
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

    /// Opens a web view, dispatches events to its page and handles its messages, until the task is
    /// cancelled.
    ///
    /// A web view that dies is replaced; the new one gets what the former had not finished.
    ///
    /// - Parameters:
    ///   - webViews: makes web views.
    ///   - catalogue: the source of catalogues. The last one fetched is shown at once, also
    ///     offline.
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `.badConfiguration` if
    ///   it runs already; `.malformed` for an unreadable catalogue of the app's own, `.badAddress`
    ///   for an invalid server address. Cancellation is no error.
    package func run(webViews: any WebViewHost, catalogue: CatalogueSource) async throws {
        try catalogue.check()
        try await driver.run(webViews, catalogue)
    }

    /// The places that forms lead to.
    public var deepLinks: DeepLinks { DeepLinks(links) }

    /// The current state.
    public var state: FormsState { driver.states.value }

    /// The states: the current one first, then each change.
    ///
    /// Buffers the newest 64 values; older ones are dropped.
    public var states: AsyncStream<FormsState> { driver.states.watch() }

    /// The current figures; costs nothing until it is read.
    public var diagnostics: FormsDiagnostics { get async { await driver.diagnostics } }

    /// Takes the form away that is on the screen, as its close button does.
    public func dismiss() { driver.inbox.put(.dismiss) }

    /// Fetches the catalogue now, for example after a push that announces a new one.
    public func refresh() { driver.reason.raise() }

    // MARK: Attributes

    /// Sets attributes of the person, to which forms are targeted; durable when it returns.
    ///
    /// They belong to the user, as events do: see ``identify(_:)``. A form that waits is decided
    /// with the attributes of that moment.
    ///
    /// - Parameter attributes: by name, 1 to 56 characters of `A–Z a–z 0–9 _ -`; nil removes one,
    ///   others stay.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`; `.tooLarge` for a text of more than
    ///   1,024 bytes; `.full` for more than 100 attributes, of which none is set then; and what
    ///   the journal throws.
    public func setAttributes(_ attributes: [String: FormsAttribute?]) async throws {
        try FormsAttribute.check(attributes)
        try await driver.store.set(attributes)
    }

    /// The attributes of the person.
    ///
    /// - Throws: what the journal throws.
    public var attributes: [String: FormsAttribute] {
        get async throws { try await driver.store.attributes() }
    }

    // MARK: User and company

    /// Sets the user.
    ///
    /// Events recorded without a user are kept. Those of another user end as `dead`, with the
    /// reason `loggedOut`; the counts of shown forms are reset, and the former user's page is
    /// closed with its form.
    ///
    /// An app whose users sign in with `Accounts` does not need this: each account has a
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

    /// Removes the user: see ``identify(_:)`` for the outcome of the former user's events.
    ///
    /// Answers that wait to be sent are still sent.
    ///
    /// - Throws: what the journal throws.
    public func logOut() async throws { try await change(.logOut) }

    /// Shows the forms of another company from now on.
    ///
    /// Pending events end as `superseded`; showings and the catalogue of the former company are
    /// deleted.
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
    /// The app is in the background: an unresponsive page is not replaced.
    ///
    /// - Parameter granted: not used.
    public func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: the catalogue is asked for again.
    public func foreground() async { await enter(.foreground)() }

    /// Does nothing: a page that shows a form is not closed to free memory.
    public func memoryPressure() async {}
}

extension EventContent {
    /// An invalid payload must not lose the tap.
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
            driver.inbox.put(.woke)
            return {}
        case .background:
            driver.inbox.put(.slept)
            // Whatever the page has answered is written down behind this.
            return { [journal] in try? await journal.write { _ in } }
        }
    }

    /// Whether the app is in the background.
    package var isAsleep: Bool { get async { await driver.machine.isAsleep } }
}
