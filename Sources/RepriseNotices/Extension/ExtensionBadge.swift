/// The badge as computed by a service extension: the app's count, or the server's, plus what came
/// since.
///
/// A function of the mirror and all pushes since, so the order of pushes makes no difference.
package struct ExtensionBadge: Hashable, Sendable {
    /// How many are unread.
    package var count: Int64
    /// When the server counted, if it was the server; by its clock, in milliseconds since 1970.
    package var asOf: Int64?

    /// Computes it.
    ///
    /// A server's count is used only beyond the position that the app has counted itself: the app
    /// knows local reads. Of the usable counts the newest wins. Messages after it are added.
    ///
    /// - Parameters:
    ///   - mirror: the app's; nil: none is readable.
    ///   - records: the messages pushed since, including this one.
    /// - Returns: nil without any count.
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
            // The mirror's may be any number.
            if !isCounted, badge.count < .max { badge.count += 1 }
        }
        return badge
    }

    /// Whether the server's count is later, and further, than the app's.
    private static func isOfUse(_ record: ShownRecord, _ mirror: NoticeMirror?) -> Bool {
        guard record.counted != nil, let asOf = record.countedAsOf else { return false }
        guard let mirror else { return true }
        if let standing = mirror.standings[record.channel], standing.head >= record.head {
            return false
        }
        return asOf >= mirror.badgeAsOf
    }

    /// Orders counts by time, then by head, so that the order of arrival makes no difference.
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
