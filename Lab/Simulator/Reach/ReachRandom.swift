extension SeededRandom {
    /// Drawn from the exponential distribution of mean 1.
    ///
    /// By comparisons alone (von Neumann 1951), so that no mathematics library decides the last
    /// bit.
    mutating func exponential() -> Double {
        var whole = 0.0
        while true {
            let first = fraction()
            var last = first
            var isEven = true
            while true {
                let next = fraction()
                if next >= last { break }
                last = next
                isEven.toggle()
            }
            if isEven { return whole + first }
            whole += 1
        }
    }
}
