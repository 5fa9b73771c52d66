/// What a server pushes by; nothing by default.
public struct PushConfiguration: Hashable, Sendable {
    /// Apple's service; nil pushes nothing there.
    public var apns: APNsSettings?
    /// The services of browsers; nil pushes nothing there.
    public var webPush: WebPushSettings?
    /// Whether pushes are only logged: everything but the sending is done, and what would have been
    /// sent counts as sent.
    public var isDryRun = false

    /// Pushes nothing.
    public init() {}

    /// Refuses what cannot be right, without reading a file.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, with a remedy.
    public func check() throws {
        try apns?.check()
        try webPush?.check()
    }
}
