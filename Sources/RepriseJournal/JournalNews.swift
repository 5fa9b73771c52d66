package import Foundation
package import RepriseCore
import Synchronization

/// What a door can hear of a journal beside what is handed to it.
package enum JournalNews: Hashable, Sendable {
    /// A condition holds now.
    case opened(Readiness)
    /// A condition does not hold any more.
    case closed(Readiness)
    /// Entries were recorded and are durable: the newest row of each kind.
    case recorded([String: Int64])
    /// The calendar was set forward by so much (back, if negative), and what is due has moved with
    /// it.
    case calendarMoved(Duration)
    /// The journal is not ours any more: nothing that is done from now on can be written.
    case lost
}

extension Journal {
    /// Tells of everything from now on; it must not wait, and cannot be ended before the journal
    /// is.
    package func observe(_ observer: @escaping @Sendable (JournalNews) -> Void) {
        driver.observe(observer)
    }

    /// Whether a condition holds.
    package func isOpen(_ readiness: Readiness) -> Bool { driver.isOpen(readiness) }

    /// The calendar, as the journal's last transaction saw it.
    package var now: WallTime { store.now }

    /// Whether the calendar is trusted enough to call something late.
    package var mayExpire: Bool { store.books.withLock { $0.clock.mayExpire } }

    /// Where it lies: what a door keeps beside it is in a folder there.
    package var location: URL { folder.url }

    /// Where the spool and the mirror are.
    package var sharedLocation: URL { folder.shared }
}
