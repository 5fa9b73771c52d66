import Foundation
import RepriseJournal

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
