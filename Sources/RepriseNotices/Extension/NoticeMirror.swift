import Foundation
package import RepriseCore
import RepriseJournal
import RepriseWire

/// The app's data for its service extension: all that a decision needs besides the push.
///
/// The value of the journal's mirror, at most 65,536 bytes as JSON: ``fitted(order:)`` ensures
/// that.
package struct NoticeMirror: Hashable, Sendable, Codable {
    /// The version of this shape.
    package static let version = 1

    /// A channel's position for this user.
    package struct Status: Hashable, Sendable, Codable {
        /// Up to where the person has read.
        package var read: Int64
        /// Up to where messages do not count: before joining, or before the log began anew.
        package var before: Int64
        /// The newest sequence that the journal has counted.
        package var head: Int64

        package init(read: Int64, before: Int64, head: Int64) {
            self.read = read
            self.before = before
            self.head = head
        }
    }

    /// A muted channel or person.
    package struct Mute: Hashable, Sendable, Codable {
        /// Until then, in milliseconds since 1970; nil: for ever.
        package var until: Int64?
        /// Whether mentions come through.
        package var exceptMentions: Bool

        package init(until: Int64? = nil, exceptMentions: Bool = false) {
            self.until = until
            self.exceptMentions = exceptMentions
        }
    }

    /// The signed-in user.
    package var me: String?
    /// By channel: those that changed last, at most ``NoticeLimits/mirrored``.
    package var standings: [String: Status] = [:]
    /// By channel.
    package var channelMutes: [String: Mute] = [:]
    /// By person.
    package var senderMutes: [String: Mute] = [:]
    /// As `22:00`, `07:00` and a zone; nil: none.
    package var quiet: [String]?
    /// The notification settings.
    package var settings: NotificationSettings
    /// The unread messages of all channels, as the app counted them.
    package var badge: Int64 = 0
    /// The newest moment of a count of the server that the app has taken, by the server's clock, in
    /// milliseconds since 1970.
    package var badgeAsOf: Int64 = 0
    /// The messages whose banners the app has shown last and the system has taken, newest first, at
    /// most ``NoticeLimits/mirroredShown``; nil: it does not say.
    package var shown: [String]?

    /// An empty one.
    package init(me: String?, settings: NotificationSettings) {
        self.me = me
        self.settings = settings
    }
}

extension NoticeMirror.Mute {
    /// As a decision takes it.
    var state: NoticeState.Mute {
        .until(until.map { WallTime(milliseconds: $0) } ?? .forever, exceptMentions: exceptMentions)
    }
}

extension WallTime {
    /// Later than every moment.
    package static let forever = WallTime(milliseconds: .max)
}

extension NoticeMirror {
    /// The same, reduced to the mirror's size.
    ///
    /// Omissions make the extension less precise, never wrong: for a channel without a position it
    /// uses the server's count, and the server sends no alert for muted ones. Positions go first,
    /// the oldest of `order`; then shown messages; then mutes.
    ///
    /// - Parameter order: channels, last changed first; others go before them.
    /// - Returns: a mirror of at most ``RepriseJournal/JournalLimits/mirrorBytes``.
    package func fitted(order: [String] = []) -> NoticeMirror {
        var fitted = self
        fitted.shown = shown.map { Array($0.prefix(NoticeLimits.mirroredShown)) }
        fitted.keep(NoticeLimits.mirrored, of: order)
        while fitted.isTooLarge {
            if !fitted.standings.isEmpty {
                fitted.keep(fitted.standings.count / 2, of: order)
            } else if fitted.shown?.isEmpty == false {
                fitted.shown = []
            } else if !fitted.senderMutes.isEmpty {
                fitted.senderMutes = Self.half(fitted.senderMutes)
            } else if !fitted.channelMutes.isEmpty {
                fitted.channelMutes = Self.half(fitted.channelMutes)
            } else {
                break
            }
        }
        return fitted
    }

    /// With the version and the time around it.
    private var isTooLarge: Bool {
        let bytes = (try? JSONEncoder().encode(self).count) ?? 0
        return bytes > JournalLimits.mirrorBytes - 128
    }

    private mutating func keep(_ count: Int, of order: [String]) {
        guard standings.count > count else { return }
        let (known, named) = (Set(standings.keys), Set(order))
        let rest = known.subtracting(named).sorted()
        let kept = Set((order.filter { known.contains($0) } + rest).prefix(count))
        standings = standings.filter { kept.contains($0.key) }
    }

    private static func half(_ mutes: [String: Mute]) -> [String: Mute] {
        let kept = Set(mutes.keys.sorted().prefix(mutes.count / 2))
        return mutes.filter { kept.contains($0.key) }
    }
}
