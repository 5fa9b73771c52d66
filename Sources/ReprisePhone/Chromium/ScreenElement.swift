/// Something on a page as a screen reader has it.
package struct ScreenElement: Hashable, Sendable, CustomStringConvertible {
    /// As in `dialog`, `heading`, `button`, `textbox`, `StaticText`.
    package let role: String
    /// Its accessible name.
    package let name: String
    /// Its accessible description: a hint, or an error.
    package let detail: String
    /// Its typed or chosen value.
    package let value: String
    /// `focused`, `disabled`, `required`, `invalid`, `checked`, `modal`, …, with their values as
    /// text.
    package let properties: [String: String]
    /// Its depth below the page.
    package let depth: Int
    let node: Int?

    /// Whether it has the keyboard focus.
    package var isFocused: Bool { properties["focused"] == "true" }

    /// Role and name.
    package var description: String { "\(role) “\(name)”" }
}
