public import Foundation
package import Logging
public import RepriseCore

extension Journal {
    /// The options of a journal.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// How long a finished entry stays, so that a late copy is recognised.
        ///
        /// At most 100 years.
        public var retention: Duration = .seconds(7 * 86_400)
        /// The most unfinished entries; beyond it `record` throws `.full`.
        public var pendingLimit = 100_000
        /// How long to wait for another process's lock in the database.
        public var busyTimeout: Duration = .seconds(5)
        /// How long ``Journal/close()`` waits for handlers, once before and once after it cancels
        /// them.
        public var closeGrace: Duration = .seconds(2)
        /// Become the owner although another process holds the lock.
        ///
        /// For a frozen owner: its writes are refused when it wakes.
        ///
        /// An owner that is frozen inside a transaction keeps SQLite's own lock as well: then
        /// opening throws `.busy` until that process is ended.
        public var takeOver = false
        /// Where the spool and the mirror are, if not in the journal's folder, whose own spool is
        /// for tools then.
        ///
        /// On iOS the journal belongs into the app's own container, and only this folder into the
        /// container that is shared with extensions: the system kills a process that is suspended
        /// with a file lock in a shared container.
        public var sharedFolder: URL?

        package var logger = Logger.silent
        /// The clocks; a test sets a `ManualClock` of RepriseTesting.
        public var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}
    }
}
