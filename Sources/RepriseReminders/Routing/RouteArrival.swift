package import RepriseCore
import RepriseJournal
import RepriseWire

/// A recorded arrival, unread: it is parsed when it is dispatched.
package struct RouteArrival: Hashable, Sendable {
    /// Through which entrance.
    package var source: RoutedTap.Source
    /// The notification's payload; nil: unreadable.
    package var info: [UInt8]?
    /// A deep link.
    package var link: String?
    /// The action of a notification that was chosen.
    package var action: String?
    /// The text that was typed for it.
    package var answer: String?
    /// The category of the notification.
    package var category: String?
    /// When the notification rang.
    package var rang: WallTime?

    private init(_ source: RoutedTap.Source) { self.source = source }

    /// A tap on a notification, or on one of its actions.
    package init(_ response: NotificationResponse) {
        let content = response.notification.request.content
        self.init(.tap)
        info = Self.readable(content.info)
        rang = response.notification.date
        if !content.category.isEmpty {
            category = content.category.limited(to: RouteLimits.routeID)
        }
        switch response.action {
        case .open: return
        case .dismiss: action = ReminderActionRule.dismissal
        case .button(let name): action = name.limited(to: RouteLimits.routeID)
        case .text(let name, let answer):
            action = name.limited(to: RouteLimits.routeID)
            self.answer = answer.limited(to: RouteLimits.answer)
        }
        source = .action
    }

    package init(link: String) {
        self.init(.link)
        // One byte beyond the limit, so that a link that is too long is recognised.
        self.link = link.limited(to: RouteLimits.link + 4)
    }

    package init(_ route: Route) {
        self.init(.app)
        info = ReminderInfo(route: route).payload
    }

    /// A nested payload must be an object within the limits.
    private static func readable(_ info: [UInt8]) -> [UInt8]? {
        guard info.count <= RouteLimits.payloadBytes,
            ForeignJSON.isShallow(info, most: RouteLimits.payloadDepth),
            (try? JSONScanner.validate(info)) != nil,
            info.first(where: { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }) == UInt8(ascii: "{")
        else { return nil }
        return info
    }
}

// MARK: In the journal

extension RouteArrival {
    package var payload: [UInt8] {
        var writer = JSONWriter(reserving: (info?.count ?? 0) + (answer?.utf8.count ?? 0) + 256)
        writer.object { json in
            json.key("source")
            json.string(source.rawValue)
            if let info {
                json.key("info")
                json.raw(info)
            }
            json.member("link", link)
            json.member("action", action)
            json.member("answer", answer)
            json.member("category", category)
            if let rang {
                json.key("rang")
                json.integer(rang.milliseconds)
            }
        }
        return writer.bytes
    }

    /// Decodes the journal's payload.
    package init(payload: [UInt8]) throws {
        self = try JSONMembers.read(payload) { members in
            let source = try members.string("source")
            var arrival = RouteArrival(RoutedTap.Source(rawValue: source) ?? .tap)
            if !members.lacks("info") { arrival.info = try members.object("info") }
            // Each byte may have become an escape of six.
            arrival.link = try members.text("link", limit: 6 * (RouteLimits.link + 4))
            arrival.action = try members.text("action", limit: 6 * RouteLimits.routeID)
            arrival.answer = try members.text("answer", limit: 6 * RouteLimits.answer)
            arrival.category = try members.text("category", limit: 6 * RouteLimits.routeID)
            if !members.lacks("rang") {
                arrival.rang = WallTime(milliseconds: try members.integer("rang"))
            }
            return arrival
        }
    }
}

extension JSONMembers {
    fileprivate func text(_ key: String, limit: Int) throws -> String? {
        lacks(key) ? nil : try string(key, limit: limit)
    }
}
