/// Who waits, in the order in which they came; joining and being next cost the same however long
/// the line is.
package struct Line<Element> {
    private var elements: [Element?] = []
    private var start = 0

    package init() {}

    package var isEmpty: Bool { start == elements.count }
    package var count: Int { elements.count - start }

    package mutating func join(_ element: Element) { elements.append(element) }

    /// Takes out who has waited longest.
    package mutating func next() -> Element? {
        guard start < elements.count else { return nil }
        defer { tidy() }
        defer { start += 1 }
        return elements[start].take()
    }

    /// Who has waited longest, and goes on waiting.
    package var first: Element? { start < elements.count ? elements[start] : nil }

    /// Takes out the first one of whom it is true.
    package mutating func leave(_ isIt: (Element) -> Bool) -> Element? {
        let index = elements.indices[start...].first { elements[$0].map(isIt) ?? false }
        return index.flatMap { elements.remove(at: $0) }
    }

    /// Takes out all of whom it is true.
    package mutating func leaveAll(_ isGone: (Element) -> Bool) {
        elements.removeSubrange(..<start)
        start = 0
        elements.removeAll { $0.map(isGone) ?? true }
    }

    /// Gives the places back that were left in front, once they are the greater part.
    private mutating func tidy() {
        guard start > 32, start * 2 > elements.count else { return }
        elements.removeSubrange(..<start)
        start = 0
    }
}

extension Line: Sendable where Element: Sendable {}
