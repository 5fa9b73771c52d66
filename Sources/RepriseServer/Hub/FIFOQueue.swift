/// A FIFO queue; joining and leaving cost the same at any length.
package struct FIFOQueue<Element> {
    private var elements: [Element?] = []
    private var start = 0

    package init() {}

    package var isEmpty: Bool { start == elements.count }
    package var count: Int { elements.count - start }

    package mutating func join(_ element: Element) { elements.append(element) }

    /// Removes the oldest element.
    package mutating func next() -> Element? {
        guard start < elements.count else { return nil }
        defer { tidy() }
        defer { start += 1 }
        return elements[start].take()
    }

    /// The oldest element, which stays.
    package var first: Element? { start < elements.count ? elements[start] : nil }

    /// Removes the first match.
    package mutating func leave(_ isIt: (Element) -> Bool) -> Element? {
        let index = elements.indices[start...].first { elements[$0].map(isIt) ?? false }
        return index.flatMap { elements.remove(at: $0) }
    }

    /// Removes all matches.
    package mutating func leaveAll(_ isGone: (Element) -> Bool) {
        elements.removeSubrange(..<start)
        start = 0
        elements.removeAll { $0.map(isGone) ?? true }
    }

    /// Frees the empty places in front, once they are the greater part.
    private mutating func tidy() {
        guard start > 32, start * 2 > elements.count else { return }
        elements.removeSubrange(..<start)
        start = 0
    }
}

extension FIFOQueue: Sendable where Element: Sendable {}
