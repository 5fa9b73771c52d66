import Foundation
import RepriseCore
import RepriseForms
import ReprisePhone
import RepriseTestSupport
import Synchronization
import Testing

/// A page in a real browser, and a host that says what a test tells it to.
final class PageFixture: Sendable {
    /// One browser for all tests of this process; it ends with the process.
    static let browser = Task { try await Chromium.start() }

    static let session = "5e55105e55105e55105e55105e55105e"
    /// The host's calendar in these tests: nobody's own.
    static let now = 1_000_000_000_000

    let view: ChromiumWebView
    private let heard = Mutex<[DevToolsValue]>([])
    private let read = Mutex(0)
    private let end = Mutex<String?>(nil)

    /// Opens the page, greets it, gives it a catalogue.
    ///
    /// - Parameters:
    ///   - forms: the catalogue's, as JSON; nil for a page that nobody has greeted.
    ///   - predicates: the named ones, as JSON.
    ///   - version: the protocol that the host speaks.
    ///   - screen: what the page believes to be on.
    /// - Throws: what the browser says.
    init(
        _ forms: [String]?, predicates: String = "{}", speaking version: Int = 1,
        on screen: ChromiumWebViews.Screen = .init(hasReducedMotion: true)
    ) async throws {
        let webViews = ChromiumWebViews(
            address: try await Self.browser.value.address, app: "tests", screen: screen)
        view = try await webViews.openPage(Self.page)
        let events = view.events
        Task { [weak self] in
            for await event in events {
                switch event {
                case .message(let bytes):
                    let value = try? JSONDecoder().decode(DevToolsValue.self, from: Data(bytes))
                    self?.heard.withLock { $0.append(value ?? .null) }
                case .terminated(let reason): self?.end.withLock { $0 = reason }
                }
            }
        }
        guard let forms else { return }
        _ = try await says("hello")
        try await tell(
            #"{"type":"welcome","protocol":\#(version),"now":\#(Self.now),"locale":"en"}"#)
        try await tell(Self.catalogue(forms, predicates: predicates))
        _ = try await says("formsData")
    }

    /// The page that ships; with REPRISE_FORMS_JS another runtime, which scripts/mutate-forms has
    /// broken on purpose.
    private static var page: HostedWebPage {
        get throws {
            let page = FormsPage.page(session: session)
            guard let other = ProcessInfo.processInfo.environment["REPRISE_FORMS_JS"] else {
                return page
            }
            var files = page.files
            files["/forms.js"] = .init(
                type: "text/javascript; charset=utf-8",
                bytes: Array(try Data(contentsOf: URL(filePath: other))))
            return HostedWebPage(files: files, policy: page.policy)
        }
    }

    static func catalogue(
        _ forms: [String], version: String = "1", predicates: String = "{}"
    ) -> String {
        """
        {"type":"catalogue","version":"\(version)","catalogue":{"format":"forms/1","version":"\(version)",
        "predicates":\(predicates),"forms":[\(forms.joined(separator: ","))]}}
        """
    }

    /// A form by what differs from the least that one needs; its trigger is an event of its own
    /// name.
    static func form(_ id: String, on event: String? = nil, _ members: String = "") -> String {
        """
        {"id":"\(id)","triggers":[{"event":"\(event ?? id)"}],"title":"Form \(id)"\(members)}
        """
    }

    /// Why the page is gone.
    var reason: String? { end.withLock { $0 } }

    func tell(_ text: String) async throws { try await view.send(Array(text.utf8)) }

    /// Events that were recorded now.
    func happened(_ names: String..., properties: String = "{}", ago: Int = 0) async throws {
        let events = names.map { name in
            #"{"id":"e-\#(name)","name":"\#(name)","properties":\#(properties),"at":\#(Self.now - ago),"now":\#(Self.now),"attempt":1}"#
        }
        try await tell(#"{"type":"events","events":[\#(events.joined(separator: ","))]}"#)
    }

    /// Waits for the page's next message, which has to be of this type; `log` and `waiting` are
    /// passed over.
    func says(
        _ type: String, within limit: Duration = .seconds(60),
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> DevToolsValue {
        let message = try #require(
            await next(type, within: limit), "no “\(type)” came", sourceLocation: location)
        #expect(message["type"]?.text == type, "\(message)", sourceLocation: location)
        return message
    }

    /// That the page has nothing to say: after all it was told it answers to something else.
    func saysNothing(_ location: SourceLocation = #_sourceLocation) async throws {
        try await tell(#"{"type":"knock"}"#)
        let fault = try await says("fault", location)
        #expect(fault["about"]?.text == "knock", sourceLocation: location)
    }

    private func next(_ type: String, within limit: Duration) async throws -> DevToolsValue? {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            let index = read.withLock { $0 }
            let message = heard.withLock { $0.count > index ? $0[index] : nil }
            guard let message else {
                if reason != nil { return nil }
                try await Task.sleep(for: .milliseconds(2))
                continue
            }
            read.withLock { $0 += 1 }
            let isAside = ["log", "waiting"].contains(message["type"]?.text)
            if !isAside || message["type"]?.text == type { return message }
        }
        return nil
    }

    /// All that it has said so far.
    var messages: [DevToolsValue] { heard.withLock { $0 } }

    /// Has a form shown, from its event to its appearance.
    func show(
        _ form: String, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await happened(form)
        try await grant(form, location)
    }

    func grant(_ form: String, _ location: SourceLocation = #_sourceLocation) async throws {
        let asked = try await says("showing", location)
        #expect(asked["form"]?.text == form, sourceLocation: location)
        let event = try #require(asked["event"]?.text)
        try await tell(
            #"{"type":"granted","event":"\#(event)","form":"\#(form)","showing":"s-\#(form)"}"#)
        _ = try await says("formWillAppear", location)
        let appeared = try await says("formDidAppear", location)
        #expect(appeared["showing"]?.text == "s-\(form)", sourceLocation: location)
    }

    func deny(_ form: String, _ reason: String) async throws {
        let asked = try await says("showing")
        #expect(asked["form"]?.text == form)
        let event = try #require(asked["event"]?.text)
        try await tell(
            #"{"type":"denied","event":"\#(event)","form":"\#(form)","reason":"\#(reason)"}"#)
    }

    /// What became of events, by id without “e-”: result, form, reason.
    func handled(_ location: SourceLocation = #_sourceLocation) async throws -> [String: String] {
        let message = try await says("handled", location)
        guard case .array(let events)? = message["events"] else { return [:] }
        return Dictionary(
            events.map { event in
                let words = ["result", "form", "reason"].compactMap { event[$0]?.text }
                return (
                    String((event["id"]?.text ?? "").dropFirst(2)), words.joined(separator: " ")
                )
            }
        ) { first, _ in first }
    }

    func close() async { await view.close() }
}

/// The files that the page and the Swift validator are both held by.
enum Vectors {
    static func read(_ name: String) throws -> [DevToolsValue] {
        let file = Command.root.appending(path: "docs/forms/vectors/\(name).json")
        return try JSONDecoder().decode([DevToolsValue].self, from: Data(contentsOf: file))
    }
}
