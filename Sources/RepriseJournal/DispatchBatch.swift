package import RepriseCore

/// One batch of the dispatch: everything that is written in one transaction.
package struct DispatchBatch: Hashable, Sendable {
    /// How entries of a kind are handled.
    package enum Work: Hashable, Sendable {
        /// By a handler outside of the transaction.
        case effect
        /// By a handler whose effect is in the transaction.
        case transaction
    }

    /// A request for entries of one kind.
    package struct Take: Hashable, Sendable {
        package var kind: String
        package var work: Work
        package var limit: Int
        /// The gate is closed: only entries that their bound has released.
        package var onlyReleased: Bool

        package init(kind: String, work: Work, limit: Int, onlyReleased: Bool) {
            self.kind = kind
            self.work = work
            self.limit = limit
            self.onlyReleased = onlyReleased
        }
    }

    /// The handlers' acknowledgements since the last batch.
    package var acknowledgements: [Acknowledgement]
    /// Whether to look at due entries.
    package var looksAtDue: Bool
    package var takes: [Take]

    package init(
        acknowledgements: [Acknowledgement] = [], looksAtDue: Bool = false, takes: [Take] = []
    ) {
        self.acknowledgements = acknowledgements
        self.looksAtDue = looksAtDue
        self.takes = takes
    }

    package var isEmpty: Bool { acknowledgements.isEmpty && takes.isEmpty && !looksAtDue }
}

/// The acknowledgement of an entry in flight.
package struct Acknowledgement: Hashable, Sendable {
    package enum Disposition: Hashable, Sendable {
        case applied
        /// Its effect was found in the app's store: it was not dispatched again.
        case appliedBefore
        /// The journal was closed before its handler was started.
        case notStarted
        case dead(reason: String)
        /// Its feature decides its outcome and reason.
        case ended(Outcome, reason: String)
        /// Requeued, because its receiver is gone: it can be taken again at once.
        case back(reason: String, isInDoubt: Bool)
        case retry(after: Duration, countsAsFailure: Bool, reason: String)
        /// It is dispatched again when it is next of its partition key, and only after `unless` if
        /// the previous one is in flight.
        case requeueInOrder(unless: Duration, reason: String)
    }

    package var seq: Int64
    package var kind: String
    package var partitionKey: String?
    package var disposition: Disposition

    package init(seq: Int64, kind: String, partitionKey: String?, disposition: Disposition) {
        self.seq = seq
        self.kind = kind
        self.partitionKey = partitionKey
        self.disposition = disposition
    }
}

extension Acknowledgement.Disposition {
    /// Whether it ends the entry.
    var isEnd: Bool {
        switch self {
        case .applied, .appliedBefore, .dead, .ended: true
        case .notStarted, .retry, .requeueInOrder, .back: false
        }
    }

    /// Whether the entry can be taken again in the batch that writes this.
    var isReadyAtOnce: Bool {
        switch self {
        case .notStarted, .back: true
        case .applied, .appliedBefore, .dead, .ended, .retry, .requeueInOrder: false
        }
    }

    /// The disposition of an entry whose handler threw after `failures` earlier ones; the driver
    /// draws `jitter`, in 0..<1.
    package static func after(
        _ error: any Error, kind: EntryKind, failures: Int, jitter: Double
    ) -> Self {
        let wait = kind.backoff.delay(failures: failures + 1, jitter: jitter)
        if let back = error as? RequeueInOrder {
            return .requeueInOrder(unless: wait, reason: back.description)
        }
        let failure = error as? DispatchFailure
        let reason = failure?.reason ?? "\(error)"
        switch failure?.advice {
        case .permanent:
            return .dead(reason: reason)
        case .notReady:
            return .retry(after: wait, countsAsFailure: false, reason: reason)
        case .retry(let asked) where failures + 1 < kind.attemptLimit:
            return .retry(after: max(asked, .zero), countsAsFailure: true, reason: reason)
        case nil where error is CancellationError:
            return .retry(after: wait, countsAsFailure: false, reason: "The handler was cancelled.")
        case nil where failures + 1 < kind.attemptLimit:
            return .retry(after: wait, countsAsFailure: true, reason: reason)
        case .retry, nil:
            return .dead(reason: reason)
        }
    }
}

/// The result of a batch, once it is durable.
package struct DispatchBatchResult: Hashable, Sendable {
    /// How many of each kind are in flight now.
    package var taken: [String: Int]
    /// Kinds that may have more entries.
    package var more: Set<String>
    /// When the next entry is due; nil: none is.
    package var soonest: Duration?
    /// Whether more entries are due now than one batch handles.
    package var isMoreDue: Bool

    package init(
        taken: [String: Int] = [:], more: Set<String> = [], soonest: Duration? = nil,
        isMoreDue: Bool = false
    ) {
        self.taken = taken
        self.more = more
        self.soonest = soonest
        self.isMoreDue = isMoreDue
    }
}
