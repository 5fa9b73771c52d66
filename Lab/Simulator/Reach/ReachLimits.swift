/// The limits of what is simulated.
package enum ReachLimits {
    /// The most devices of a population.
    package static let devices = 100_000
    /// The most days.
    package static let days = 60
    /// The most draws of all inputs together.
    package static let draws = 10_000
    /// The most bytes of a file with inputs.
    package static let fileBytes = 1 << 20
    /// How long a socket takes, in seconds.
    package static let socketSeconds = 0.1
    /// How many uses a person has after the last message at least, so that each has its next open.
    package static let usesAfter = 3
}
