package import RepriseCore

/// What the phone tells a process of a service extension.
package enum ExtensionOrder: Hashable, Sendable, Codable {
    /// The first line: what it may change, and the folder that it shares with its app.
    case request(NotificationRequest, folder: String)
    /// Its time is nearly over (`serviceExtensionTimeWillExpire`).
    case timeWillExpire
}

/// What a process of a service extension says.
package enum ExtensionMessage: Hashable, Sendable, Codable {
    /// What is to be shown; the first one counts.
    case content(NotificationContent)
    /// An observation for the phone's log.
    case report(what: String, detail: String)
}
