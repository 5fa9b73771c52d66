public import Foundation
package import RepriseCore

extension Journal {
    /// What can be set about a journal.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// How long a finished entry stays, so that a late copy of it is recognised.
        ///
        /// At most 100 years.
        public var retention: Duration = .seconds(7 * 86_400)
        /// The most entries that have not ended; beyond it `record` throws `.full`.
        public var pendingLimit = 100_000
        /// How long to wait for a lock that another process holds in the database.
        public var busyTimeout: Duration = .seconds(5)
        /// How long ``Journal/close()`` waits for handlers, once before and once after it cancels
        /// them.
        public var closeGrace: Duration = .seconds(2)
        /// Become the owner although another process holds the lock.
        ///
        /// For the case that the owner is frozen: what it tries to write when it wakes is refused.
        ///
        /// One that is frozen inside a transaction keeps SQLite's own lock as well: then opening
        /// throws `.busy` until that process is ended.
        public var takeOver = false
        /// Where the spool and the mirror are, if not in the journal's folder.
        ///
        /// On iOS the journal belongs into the app's own container and only this folder into the
        /// one that is shared with extensions: a process that is suspended with a file lock in a
        /// shared container is killed.
        public var sharedFolder: URL?

        package var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}
    }
}
