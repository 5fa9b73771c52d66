package import RepriseWire

extension SubscriptionMachine {
    /// The state that the app has to load, because its messages will never arrive.
    package struct Snapshot: Hashable, Sendable {
        /// The loaded state must contain everything up to here; the subscription continues after
        /// it.
        package var position: Int64
        /// The missing sequences; those of the former log, if that was replaced.
        ///
        /// As many as a row holds: the ledger has all.
        package var lost: [SequenceRange]
        package var reason: Gone.Reason

        package init(position: Int64, lost: [SequenceRange], reason: Gone.Reason) {
            self.position = position
            self.lost = Array(lost.prefix(WireLimits.coverageRanges))
            self.reason = reason
        }

        /// How many messages were lost, as far as is known.
        package var lostCount: Int64 { lost.reduce(0) { $0 + $1.count } }
    }
}

/// A snapshot on its way to the app: wanted, durable, requested, loaded.
package struct SnapshotLoading: Sendable {
    package typealias Snapshot = SubscriptionMachine.Snapshot

    /// Whether the app loads a snapshot when messages are lost.
    package var isEnabled = false
    /// The one that it has not finished loading.
    package private(set) var current: Snapshot?
    /// The revision with which that is durable.
    private var revision = 0
    /// Whether the app has been asked for it.
    private var isRequested = false
    /// Whether the server was asked if the snapshot is still of its log.
    private var isAsking = false

    /// - Parameter stored: the one that is durable and not loaded.
    package init(stored: Snapshot? = nil) { current = stored }

    /// The one that the app has to load; nil: none, or it loads none.
    package var pending: Snapshot? { isEnabled ? current : nil }

    package mutating func begin(_ snapshot: Snapshot, durableWith revision: Int) {
        (current, self.revision) = (snapshot, revision)
        (isRequested, isAsking) = (false, false)
    }

    /// The one to ask the app for now: once, and not before it is durable.
    package mutating func request(durable: Int) -> Snapshot? {
        guard let current, !isRequested, durable >= revision else { return nil }
        isRequested = true
        return current
    }

    /// The app could not load it.
    ///
    /// - Returns: the snapshot, if the server is to be asked whether its log still exists.
    package mutating func failed() -> Snapshot? {
        guard let current, isRequested, !isAsking else { return nil }
        isAsking = true
        return current
    }

    /// The server has answered, or no answer will come.
    ///
    /// - Returns: whether it was asked.
    @discardableResult
    package mutating func answered() -> Bool {
        defer { isAsking = false }
        return isAsking
    }

    /// Nobody loads it any more: the next connection asks the app again.
    package mutating func abandoned() { (isRequested, isAsking) = (false, false) }

    /// - Returns: false if another has taken its place.
    package mutating func taken(_ snapshot: Snapshot) -> Bool {
        guard current == snapshot else { return false }
        current = nil
        (isRequested, isAsking) = (false, false)
        return true
    }

    /// The disk is the truth.
    package mutating func restore(_ stored: Snapshot?) {
        (current, revision) = (stored, 0)
        isAsking = false
    }
}
