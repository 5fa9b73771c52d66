package import RepriseCore

/// What a chain's notification says at a moment: how far it is, or how it ended.
///
/// ```swift
/// let importPhotos = Chain<[String]>("import-photos") { … }.notification { names, progress in
///     switch progress.state {
///     case .succeeded: .init(title: "\(names.count) photos imported", sound: true)
///     case .failed: .init(title: "Import failed", body: progress.reason ?? "")
///     case .cancelled: nil
///     default: .init(title: "Importing", body: "\(progress.done) of \(progress.total)")
///     }
/// }
/// ```
public struct ChainNotification: Hashable, Sendable {
    /// The first line, cut to 256 bytes.
    public var title: String
    /// The text, cut to 1,024 bytes.
    public var body: String
    /// Whether the result plays a sound; progress never does.
    public var sound: Bool
    /// The app's own data, a JSON object as UTF-8 of at most 4,096 bytes: a tap with it is routed
    /// like that of any notification; without it a tap only opens the app.
    public var info: [UInt8]

    /// Describes a notification.
    ///
    /// - Parameters:
    ///   - title: the first line.
    ///   - body: the text.
    ///   - sound: whether the result plays a sound.
    ///   - info: the app's own data, a JSON object as UTF-8.
    public init(
        title: String, body: String = "", sound: Bool = false,
        info: [UInt8] = Array("{}".utf8)
    ) {
        (self.title, self.body) = (title, body)
        (self.sound, self.info) = (sound, info)
    }

    /// The identifiers of all chains' notifications begin so.
    package static let prefix = "reprise.chain."

    /// The request of a chain: the same identifier at each moment, so that the system replaces it.
    package func request(of chain: String, isEnd: Bool) -> NotificationRequest {
        var content = NotificationContent(
            title: title.limited(to: ChainsLimits.titleBytes),
            body: body.limited(to: ChainsLimits.bodyBytes),
            info: info.count <= ChainsLimits.infoBytes ? info : Array("{}".utf8))
        content.thread = "reprise.chains"
        // Progress lights no screen: the person has not asked for it again.
        content.interruption = isEnd ? nil : .passive
        content.sound = isEnd && sound
        return NotificationRequest(id: Self.prefix + chain, content: content)
    }
}

extension Chains {
    /// How to show a chain's notification while the app is in the foreground; nil: it is of no
    /// chain.
    package static func presentation(of notification: DeliveredNotification)
        -> PresentationOptions?
    {
        guard notification.request.id.hasPrefix(ChainNotification.prefix) else { return nil }
        return notification.request.content.interruption == .passive
            ? [.list] : [.banner, .list, .sound]
    }

    /// Whether a tap has nothing to tell but that the app is opened.
    package static func isPlain(_ notification: DeliveredNotification) -> Bool {
        notification.request.id.hasPrefix(ChainNotification.prefix)
            && notification.request.content.info == Array("{}".utf8)
    }
}
