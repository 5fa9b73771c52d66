package import RepriseCore

/// What a reader writes down in one transaction: what became of messages, and where it stands.
package struct ReaderWrite: Hashable, Sendable {
    /// What became of one message.
    package struct Settlement: Hashable, Sendable {
        package var arrival: Int64
        /// How often it has been handed over.
        package var attempts: Int
        package var failures: Int
        /// nil: it is finished.
        package var ending: Ending?

        package init(arrival: Int64, attempts: Int, failures: Int, ending: Ending?) {
            self.arrival = arrival
            self.attempts = attempts
            self.failures = failures
            self.ending = ending
        }

        /// Of a message that was handed over for the first time, and failed.
        package init(arrival: Int64, first ending: Ending) {
            self.init(
                arrival: arrival, attempts: 1, failures: ending.isFailure ? 1 : 0, ending: ending)
        }
    }

    /// Of those that leave the straight path.
    package var settlements: [Settlement]
    /// All up to here is finished or has a settlement.
    package var cursor: Int64
    /// All up to here may be with a handler.
    package var handing: Int64

    package init(settlements: [Settlement], cursor: Int64, handing: Int64) {
        self.settlements = settlements
        self.cursor = cursor
        self.handing = handing
    }

    /// When the first of those that wait is due.
    package var soonest: WallTime? {
        settlements.lazy.compactMap(\.ending).filter { $0.state == .waiting }.map(\.due).min()
    }
}

extension ReaderStore.Exceptional {
    /// What it comes to, once its handler has ended like this.
    package func settlement(after ending: Ending?) -> ReaderWrite.Settlement {
        .init(
            arrival: arrived.arrival, attempts: arrived.message.attempt,
            failures: failures + (ending?.isFailure == true ? 1 : 0), ending: ending)
    }
}
