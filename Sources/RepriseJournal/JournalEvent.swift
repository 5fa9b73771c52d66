package import Foundation
package import RepriseCore
import Synchronization

/// The events of a journal that a feature can observe, besides its entries.
package enum JournalEvent: Hashable, Sendable {
    /// A condition holds now.
    case opened(Readiness)
    /// A condition no longer holds.
    case closed(Readiness)
    /// Entries were recorded and are durable: the newest row of each kind.
    case recorded([String: Int64])
    /// The calendar was set forward by so much (back, if negative), and due moments have moved with
    /// it.
    case calendarMoved(Duration)
    /// The ownership is lost: nothing can be written from now on.
    case lost
}

extension Journal {
    /// Observes all events from now on; the observer must not wait, and lasts as long as the
    /// journal.
    package func observe(_ observer: @escaping @Sendable (JournalEvent) -> Void) {
        driver.observe(observer)
    }

    /// Whether a condition holds.
    package func isOpen(_ readiness: Readiness) -> Bool { driver.isOpen(readiness) }

    /// The calendar at the journal's last transaction.
    package var now: WallTime { store.now }

    /// Whether the calendar is trusted enough to expire entries.
    package var mayExpire: Bool { store.writerState.withLock { $0.clock.mayExpire } }

    /// The journal's folder: a feature's own files are in a folder there.
    package var location: URL { folder.url }

    /// Where the spool and the mirror are.
    package var sharedLocation: URL { folder.shared }
}
