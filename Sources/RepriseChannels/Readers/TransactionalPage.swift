package import RepriseCore

/// The results of messages whose effect shares the transaction with the reader's cursor.
///
/// All together; after a failure each alone, so that one message cannot hold up the others.
package struct TransactionalPage {
    private let options: ReaderOptions
    private let now: WallTime
    private let jitter: () -> Double
    /// Writes the effect of messages; rolled back if it throws.
    private let effect: ([Message]) throws -> Void
    /// Whether an error is the effect's fault, and not the disk's.
    private let isItsOwn: (any Error) -> Bool

    package init(
        options: ReaderOptions, now: WallTime, jitter: @escaping () -> Double,
        effect: @escaping ([Message]) throws -> Void, isItsOwn: @escaping (any Error) -> Bool
    ) {
        self.options = options
        self.now = now
        self.jitter = jitter
        self.effect = effect
        self.isItsOwn = isItsOwn
    }

    /// Applies a page, which is not empty, and returns the write that belongs to it.
    ///
    /// - Throws: an error that ends the whole transaction.
    package func apply(_ page: [Arrived]) throws -> ReaderWrite {
        var acknowledgements: [ReaderWrite.Acknowledgement] = []
        var last = page.last?.position ?? 0
        for (arrived, error) in try failed(page) {
            let ending = ending(error, failures: 0)
            acknowledgements.append(.init(arrival: arrived.arrival, first: ending))
            if options.order == .ordered, ending.state == .waiting { last = arrived.position }
        }
        return ReaderWrite(acknowledgements: acknowledgements, cursor: last, dispatching: last)
    }

    /// Retries an exceptional message.
    ///
    /// - Throws: an error that ends the whole transaction.
    package func retry(_ exceptional: ReaderStore.Exceptional) throws -> ReaderWrite.Acknowledgement
    {
        do {
            try attempt([exceptional.arrived])
            return exceptional.acknowledgement(after: nil)
        } catch {
            guard isItsOwn(error) else { throw error }
            return exceptional.acknowledgement(after: ending(error, failures: exceptional.failures))
        }
    }

    private func failed(_ page: [Arrived]) throws -> [(Arrived, any Error)] {
        do {
            try attempt(page)
            return []
        } catch {
            guard isItsOwn(error) else { throw error }
            guard page.count > 1 else { return page.map { ($0, error) } }
        }
        var failures: [(Arrived, any Error)] = []
        for arrived in page {
            failures += try failed([arrived])
            // In an ordered reader nothing comes after a message that will be retried.
            if options.order == .ordered, let failure = failures.last,
                ending(failure.1, failures: 0).state == .waiting
            {
                break
            }
        }
        return failures
    }

    private func attempt(_ page: [Arrived]) throws {
        for case let damage? in page.lazy.map(\.damage) {
            throw DispatchFailure.permanent(damage.message)
        }
        try effect(page.map(\.message))
    }

    private func ending(_ error: any Error, failures: Int) -> Ending {
        Ending.after(error, options, failures: failures, now: now, jitter: jitter())
    }
}
