import RepriseCore

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

extension ChromiumPage {
    /// All that is on the page, closed shadow roots included, from top to bottom.
    package func elements() async throws -> [ScreenElement] {
        let nodes = try await devTools.call(
            "Accessibility.getFullAXTree", session: session, as: Tree.self
        ).nodes
        let byID = Dictionary(nodes.map { ($0.nodeId, $0) }) { first, _ in first }
        var found: [ScreenElement] = []
        // Depth first, without recursion: how deep a page is, the page decides.
        var waiting = nodes.first.map { [($0.nodeId, 0)] } ?? []
        while let (id, depth) = waiting.popLast(), found.count < 100_000 {
            guard let node = byID[id] else { continue }
            if !node.ignored { found.append(node.element(depth: depth)) }
            waiting += (node.childIds ?? []).reversed().map { ($0, depth + 1) }
        }
        return found
    }

    /// The form on the screen: its title and then each of its texts, in order.
    ///
    /// - Returns: nil without a form.
    package func form() async throws -> [String]? {
        let elements = try await elements()
        guard let start = elements.firstIndex(where: { $0.role == "dialog" }) else { return nil }
        let depth = elements[start].depth
        let texts = elements[(start + 1)...].prefix { $0.depth > depth }
            .filter { $0.role == "StaticText" }.map(\.name)
        return [elements[start].name] + texts
    }

    private struct Tree: Decodable {
        struct Value: Decodable { let value: DevToolsValue? }
        struct Property: Decodable {
            let name: String
            let value: Value
        }
        struct Node: Decodable {
            let nodeId: String
            let ignored: Bool
            let role: Value?
            let name: Value?
            let description: Value?
            let value: Value?
            let properties: [Property]?
            let childIds: [String]?
            let backendDOMNodeId: Int?

            func element(depth: Int) -> ScreenElement {
                let properties = (self.properties ?? []).compactMap { property in
                    property.value.value?.text.map { (property.name, $0) }
                }
                return ScreenElement(
                    role: role?.value?.text ?? "", name: name?.value?.text ?? "",
                    detail: description?.value?.text ?? "", value: value?.value?.text ?? "",
                    properties: Dictionary(properties) { first, _ in first }, depth: depth,
                    node: backendDOMNodeId)
            }
        }
        let nodes: [Node]
    }
}
