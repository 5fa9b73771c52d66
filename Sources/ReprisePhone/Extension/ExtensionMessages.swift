package import RepriseCore

/// A message from the phone to a service extension's process.
package enum ExtensionOrder: Hashable, Sendable, Codable {
    /// The first line: the notification to change, and the folder shared with its app.
    case request(NotificationRequest, folder: String)
    /// Its time is nearly over (`serviceExtensionTimeWillExpire`).
    case timeWillExpire
}

/// A message from a service extension's process.
package enum ExtensionMessage: Hashable, Sendable, Codable {
    /// The content to show; the first one counts.
    case content(NotificationContent)
    /// An observation for the phone's log.
    case report(what: String, detail: String)
}
