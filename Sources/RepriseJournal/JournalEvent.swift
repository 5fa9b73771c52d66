package import RepriseCore

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
