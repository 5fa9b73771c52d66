/// Some time, in seconds since the beginning: from `start` up to and without `end`.
struct ReachSpan: Hashable, Sendable {
    var start: Double
    var end: Double
}

extension [ReachSpan] {
    /// The first that ends after a moment, of spans in order that do not touch.
    func first(endingAfter moment: Double) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].end > moment { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Adds one, or makes the last longer where they touch.
    mutating func extend(_ span: ReachSpan) {
        if let last, span.start <= last.end {
            self[count - 1].end = Swift.max(last.end, span.end)
        } else {
            append(span)
        }
    }
}

extension [Double] {
    /// The first that is not before a moment, of moments in order.
    func first(from moment: Double) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] >= moment { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
