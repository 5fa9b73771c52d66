/// The push services of a server; none by default.
public struct PushConfiguration: Hashable, Sendable {
    /// Apple's service; nil disables it.
    public var apns: APNsSettings?
    /// The services of browsers; nil disables them.
    public var webPush: WebPushSettings?
    /// Whether pushes are only logged: everything but the sending is done, and counts as sent.
    public var isDryRun = false

    /// No push services.
    public init() {}

    /// Refuses invalid settings, without reading a file.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, with a remedy.
    public func check() throws {
        try apns?.check()
        try webPush?.check()
    }
}
