package import RepriseCore

/// A reader's write in one transaction: the results of messages, and its position.
package struct ReaderWrite: Hashable, Sendable {
    /// The result of one message.
    package struct Acknowledgement: Hashable, Sendable {
        package var arrival: Int64
        /// How often it has been delivered.
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

        /// For a message whose first delivery failed.
        package init(arrival: Int64, first ending: Ending) {
            self.init(
                arrival: arrival, attempts: 1, failures: ending.isFailure ? 1 : 0, ending: ending)
        }
    }

    /// The results of exceptional messages.
    package var acknowledgements: [Acknowledgement]
    /// Everything up to here is finished or has a settlement.
    package var cursor: Int64
    /// Everything up to here may be with a handler.
    package var dispatching: Int64

    /// When the first waiting message is due.
    package var soonest: WallTime? {
        acknowledgements.lazy.compactMap(\.ending).filter { $0.state == .waiting }.map(\.due).min()
    }
}

extension ReaderStore.Exceptional {
    /// The result, once its handler has ended like this.
    package func acknowledgement(after ending: Ending?) -> ReaderWrite.Acknowledgement {
        .init(
            arrival: arrived.arrival, attempts: arrived.message.attempt,
            failures: failures + (ending?.isFailure == true ? 1 : 0), ending: ending)
    }
}
