public import Foundation
public import RepriseCore
import RepriseReminders

extension RepriseClient {
    /// Records a link that the system has opened the app with, durably and at once, also before the
    /// journal is open.
    ///
    /// ```swift
    /// .onOpenURL { url in
    ///     if (try? client.open(url)) == false { router.open(url) }
    /// }
    /// ```
    ///
    /// A link of ``reminders`` is `scheme://sort/id`, with the configuration's sort; it becomes a
    /// route like a tap's. Any other is the app's own, and not recorded.
    ///
    /// - Parameters:
    ///   - url: the link.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: whether it is a link of reminders.
    /// - Throws: as ``record(_:)``.
    @discardableResult
    public func open(_ url: URL, id: EntryID = .random()) throws -> Bool {
        guard owns(url) else { return false }
        try early.add(.link(url: url.absoluteString, id: id.text))
        accounts.open()
        return true
    }

    /// Whether a link is one of ``reminders``.
    package func owns(_ url: URL) -> Bool {
        guard let sort = configuration.reminders?.sort, let scheme = url.scheme?.lowercased() else {
            return false
        }
        return !["http", "https"].contains(scheme) && url.host(percentEncoded: false) == sort
    }
}
