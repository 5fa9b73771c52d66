public import Foundation
import RepriseCore

/// A person before the newest page: the same calls as `ScriptedWebViews` of RepriseTesting has, in
/// a real browser.
///
/// ```swift
/// let chromium = try await Chromium.start()
/// let screen = ChromiumWebViews(address: chromium.address)
/// configuration.webViews = screen
/// …
/// #expect(try await screen.form() == ["How was it?", "E-mail", "Send"])
/// try await screen.type("ada@example.org", into: "E-mail")
/// try await screen.click("Send")
/// try await screen.gone()
/// ```
extension ChromiumWebViews {
    private static let clickable: Set<String> = [
        "button", "checkbox", "combobox", "Date", "radio", "spinbutton", "textbox",
    ]

    /// Waits for a form.
    ///
    /// - Parameter limit: by the system's clock.
    /// - Returns: its title, and then each of its texts from top to bottom, as a screen reader has
    ///   them.
    /// - Throws: ``RepriseCore/RepriseError`` `.timedOut`; `CancellationError`.
    @discardableResult
    public func form(within limit: Duration = .seconds(20)) async throws -> [String] {
        try await wait(limit, "no form has appeared") { $0 }
    }

    /// Waits until no form is on the screen.
    ///
    /// - Parameter limit: by the system's clock.
    /// - Throws: ``RepriseCore/RepriseError`` `.timedOut`; `CancellationError`.
    public func gone(within limit: Duration = .seconds(20)) async throws {
        try await wait(limit, "the form is still there") { $0 == nil ? () : nil }
    }

    /// Clicks a button, a checkbox, an option or a field.
    ///
    /// - Parameter label: its accessible name, as a person reads it; "Close" closes every form.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if it is not there; the remedy says
    ///   what is.
    public func click(_ label: String) async throws {
        let page = try page()
        let elements = try await page.elements().filter { Self.clickable.contains($0.role) }
        let found = elements.filter { $0.name == label || $0.name == label + " optional" }
        guard let element = found.first(where: { $0.role == "button" }) ?? found.first else {
            throw RepriseError(
                .noSuchEntry, "“\(label)” is not on the screen.",
                remedy: "There: \(elements.map(\.description).joined(separator: ", ")).")
        }
        try await page.click(element.name, role: element.role)
    }

    /// Types at the end of the field that has the focus.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.closed`, `.timedOut`.
    public func type(_ text: String) async throws { try await page().type(text) }

    /// Replaces what is in a field.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - label: of the field; options are clicked instead.
    /// - Throws: as ``click(_:)``.
    public func type(_ text: String, into label: String) async throws {
        try await click(label)
        let page = try page()
        try await page.evaluate("document.execCommand('selectAll'); 0")
        try await page.type(text)
    }

    /// Presses and releases a key.
    ///
    /// - Parameters:
    ///   - key: as JavaScript names it: `Escape`, `Enter`, `Tab`, a space, or one letter.
    ///   - isShifted: with the shift key held.
    /// - Throws: ``RepriseCore/RepriseError`` `.closed`, `.timedOut`.
    public func press(_ key: String, isShifted: Bool = false) async throws {
        try await page().press(key, isShifted: isShifted)
    }

    /// Evaluates JavaScript in the page, and awaits a promise.
    ///
    /// - Returns: the value as JSON.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` with the page's exception.
    @discardableResult
    public func evaluate(_ expression: String) async throws -> String {
        let value = try await page().evaluate(expression)
        return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    /// A picture of the page.
    ///
    /// - Returns: a PNG.
    /// - Throws: ``RepriseCore/RepriseError`` `.closed`, `.timedOut`.
    public func screenshot() async throws -> Data { try await page().screenshot() }

    private func page() throws -> ChromiumPage {
        guard let newest else {
            throw RepriseError(
                .closed, "No page is open.", remedy: "Let the forms run, and wait for form().")
        }
        return newest.page
    }

    private func wait<Found>(
        _ limit: Duration, _ what: String, _ find: ([String]?) -> Found?
    ) async throws -> Found {
        let deadline = ContinuousClock.now + limit
        while true {
            if let found = find(try await shown()) { return found }
            guard ContinuousClock.now < deadline else {
                throw RepriseError(.timedOut, "After \(limit) \(what).")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The form; nil if there is none, or the page has just gone.
    private func shown() async throws -> [String]? {
        guard let newest else { return nil }
        do {
            return try await newest.page.form()
        } catch let error as RepriseError where error.code == .closed {
            return nil
        }
    }
}
