/// The figure at the app's icon, as a service extension works it out: the app's count, or the
/// server's, and what came since.
///
/// It is a function of the mirror and of all that the extension was told since, so the order in
/// which pushes come in makes no difference.
package struct ExtensionBadge: Hashable, Sendable {
    /// How many are unread.
    package var count: Int64
    /// When the server counted, if it was the server; by its clock, in milliseconds since 1970.
    package var asOf: Int64?

    /// Works it out.
    ///
    /// A count of the server is of no use once the app has counted as far itself: the app knows
    /// what was read here. Of those that are of use the newest holds, so a count never takes the
    /// place of a newer one. What it cannot have seen is added.
    ///
    /// - Parameters:
    ///   - mirror: what the app has left; nil: nothing that can be read.
    ///   - records: the messages that were pushed since, this one included.
    /// - Returns: nil if nobody has counted.
    package static func figure(_ mirror: NoticeMirror?, _ records: [ShownRecord]) -> ExtensionBadge?
    {
        var badge: ExtensionBadge
        let newest = records.filter { isOfUse($0, mirror) }.max { order($0) < order($1) }
        if let newest, let count = newest.counted {
            badge = ExtensionBadge(count: count, asOf: newest.countedAsOf)
        } else if let mirror {
            badge = ExtensionBadge(count: max(0, mirror.badge), asOf: nil)
        } else {
            return nil
        }
        var seen: Set<String> = []
        for record in records where record.isUnread && seen.insert(record.id).inserted {
            let isCounted = newest.map { has($0, counted: record) } ?? has(mirror, counted: record)
            if !isCounted { badge.count += 1 }
        }
        return badge
    }

    /// Whether the server has counted, later and further than the app.
    private static func isOfUse(_ record: ShownRecord, _ mirror: NoticeMirror?) -> Bool {
        guard record.counted != nil, let asOf = record.countedAsOf else { return false }
        guard let mirror else { return true }
        if let standing = mirror.standings[record.channel], standing.head >= record.head {
            return false
        }
        return asOf >= mirror.badgeAsOf
    }

    /// The later count; of two at one moment that of the higher head, so that it is the same in
    /// whatever order they came.
    private static func order(_ record: ShownRecord) -> (Int64, Int64, String) {
        (record.countedAsOf ?? 0, record.head, record.id)
    }

    private static func has(_ count: ShownRecord, counted record: ShownRecord) -> Bool {
        if count.channel == record.channel, record.seq <= count.head { return true }
        guard let time = record.time, let asOf = count.countedAsOf else { return false }
        return time <= asOf
    }

    private static func has(_ mirror: NoticeMirror?, counted record: ShownRecord) -> Bool {
        guard let standing = mirror?.standings[record.channel] else { return false }
        return record.seq <= standing.head
    }
}
