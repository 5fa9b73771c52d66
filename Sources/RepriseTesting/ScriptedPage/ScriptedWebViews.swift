public import RepriseCore
import Synchronization

/// Web views without a browser, for tests of forms: their page follows the rules of
/// `Web/forms.js`, and a test reads, clicks and types in it.
///
/// ```swift
/// let screen = ScriptedWebViews()
/// configuration.webViews = screen
/// configuration.catalogue = CatalogueSource(catalogue: json)
/// …
/// try await client.recordEvent("checkout")
/// #expect(try await screen.form().title == "How was it?")
/// try await screen.type("ada@example.org", into: "E-mail")
/// try await screen.click("Send")
/// try await screen.gone()                       // recorded, and the form has closed
/// ```
///
/// The tests hold it to the page's own vectors. It draws nothing, speaks English whatever the
/// locale, and knows no picture, no layout and no screen reader: try those with `ChromiumWebViews`
/// of ReprisePhone. A form appears the moment it is granted, where a browser takes two frames.
public final class ScriptedWebViews: WebViewHost {
    private struct State {
        var pages: [ScriptedPage] = []
        var fault: RepriseError?
    }

    private let clock: any Timekeeper
    private let state = Mutex(State())
    private let changes = ValueStreams<Void>(newest: 1)

    /// Makes a host of web views.
    ///
    /// - Parameter clock: times the delays of forms; give it the configuration's.
    public init(clock: any Timekeeper = SystemTimekeeper()) { self.clock = clock }

    // MARK: The app

    /// Opens the page.
    public func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        try state.withLock { state in
            if let fault = state.fault { throw fault }
            let page = ScriptedPage(page, clock: clock) { [changes] in changes.send(()) }
            state.pages.append(page)
            return page
        }
    }

    // MARK: The person

    /// The form on the screen; nil if there is none.
    public var current: ScriptedForm? { page?.form }

    /// Waits for a form.
    ///
    /// - Parameters:
    ///   - id: its id in the catalogue; nil: any.
    ///   - limit: by the system's clock.
    /// - Returns: the form, once it has appeared.
    /// - Throws: ``RepriseCore/RepriseError`` `.timedOut`; `CancellationError`.
    @discardableResult
    public func form(_ id: String? = nil, within limit: Duration = .seconds(20)) async throws
        -> ScriptedForm
    {
        try await wait(limit, "a form appears") { form in
            form.flatMap { id == nil || $0.id == id ? $0 : nil }
        }
    }

    /// Waits until no form is on the screen.
    ///
    /// - Parameter limit: by the system's clock.
    /// - Throws: ``RepriseCore/RepriseError`` `.timedOut`; `CancellationError`.
    public func gone(within limit: Duration = .seconds(20)) async throws {
        try await wait(limit, "the form closes") { $0 == nil ? () : nil }
    }

    /// Clicks a button, ticks a checkbox or an option, or puts the focus into a field.
    ///
    /// - Parameter label: as a person reads it: of a button, of a field, or of an option; "Close"
    ///   closes every form.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if it is not there; the remedy says
    ///   what is.
    public func click(_ label: String) async throws {
        try perform("“\(label)”") { $0.click(label) }
    }

    /// Types at the end of the field that has the focus.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if none has it.
    public func type(_ text: String) async throws {
        try perform("a field with the focus") { $0.type(text) ? .nothing : nil }
    }

    /// Replaces what is in a field; of a list of options it chooses one by its label.
    ///
    /// - Parameters:
    ///   - text: the text, or the label of an option.
    ///   - label: of the field.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if there is no such field or option.
    public func type(_ text: String, into label: String) async throws {
        try perform("the field “\(label)” for this") { screen in
            guard let field = screen.index(ofField: label) else { return nil }
            if let options = screen.form.fields?[field].options {
                guard let option = options.first(where: { $0.label == text }) else { return nil }
                screen.choose(option.value, field)
                return .nothing
            }
            guard screen.shown.fields[field].type != "checkbox", screen.click(label) != nil else {
                return nil
            }
            screen.clear(field)
            return screen.type(text) ? .nothing : nil
        }
    }

    /// Presses a key.
    ///
    /// - Parameters:
    ///   - key: as JavaScript names it: `Escape`, `Enter`, `Tab`, a space, or one letter.
    ///   - isShifted: with the shift key held.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if no form is there, or the key does
    ///   nothing here.
    public func press(_ key: String, isShifted: Bool = false) async throws {
        try perform("anything for the key \(key)") { $0.press(key, isShifted: isShifted) }
    }

    // MARK: Faults

    /// Ends the page's process, as a system does that is out of memory; the feature opens another.
    public func crash() { page?.crash() }

    /// Refuses to open web views from now on; nil: opens them again.
    public func fail(_ fault: RepriseError?) { state.withLock { $0.fault = fault } }

    /// How many pages were opened.
    public var opened: Int { state.withLock { $0.pages.count } }

    // MARK: -

    private var page: ScriptedPage? { state.withLock { $0.pages.last { $0.isOpen } } }

    private func perform(
        _ what: String, _ body: (inout ScriptedScreen) -> ScriptedScreen.Effect?
    ) throws {
        guard let page, page.form != nil else {
            throw RepriseError(
                .noSuchEntry, "No form is on the screen.", remedy: "Wait for form() first.")
        }
        let (isDone, labels) = page.perform(body)
        guard !isDone else { return }
        throw RepriseError(
            .noSuchEntry, "The form does not have \(what).",
            remedy: "There: \(labels.joined(separator: ", ")).")
    }

    private func wait<Found: Sendable>(
        _ limit: Duration, _ what: String, _ find: @escaping @Sendable (ScriptedForm?) -> Found?
    ) async throws -> Found {
        try await withTimeout(limit, for: "Waiting until \(what)") { [self] in
            // Opened first: a change between the two is not missed.
            for await _ in changes.open(with: ()) {
                if let found = find(current) { return found }
            }
            throw CancellationError()
        }
    }
}
