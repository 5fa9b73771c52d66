import Foundation
import RepriseCore
import RepriseReminders
import RepriseWire

/// What notifications carry, deep links, and what of both lies in the journal: the routes of the
/// door for reminders.
enum RouteProperties {
    // MARK: Payloads

    static func info(_ bytes: [UInt8]) throws {
        let reading = ReminderInfo.reading(bytes, sort: "goal")
        switch reading {
        case .read(let info):
            try bounds(info.route)
            for text in [info.reminder, info.occurrence, info.print].compactMap(\.self) {
                try hold(
                    (1...RouteLimits.routeID).contains(text.utf8.count), "beyond: \(text)")
            }
            try hold(
                ReminderInfo.reading(info.payload, sort: "another") == reading,
                "read, written, read is another")
            try foundation(bytes, info.route)
        case .malformed(let malformation):
            try refused(malformation)
            let isJSON = (try? JSONScanner.validate(bytes)) != nil
            try hold(isJSON || malformation == .notJSON, "\(malformation), and it is no JSON")
        }
        try reader(bytes, reading)
    }

    /// Readers of the app's own are asked about what nobody has written, and about nothing else.
    private static func reader(_ bytes: [UInt8], _ ours: ReminderInfo.Reading) throws {
        let id = String(decoding: bytes.prefix(160), as: UTF8.self)
        let readers = [
            RouteReader("another") { _ in .notMine },
            RouteReader("ours") { info in
                guard let first = info.first(where: { $0 > 0x20 }) else { return .notMine }
                return first == UInt8(ascii: "{")
                    ? .route(Route(sort: "goal", id: id)) : .malformed(.missing(field: "id"))
            },
        ]
        let reading = RouteReading(sort: "goal", readers: readers).read(info: bytes)
        guard ours == .malformed(.noRoute) else {
            return try hold(reading == ours, "a reader has changed what is ours")
        }
        let isRight = (1...RouteLimits.routeID).contains(id.utf8.count)
        try hold(
            reading
                == (isRight
                    ? .read(ReminderInfo(route: Route(sort: "goal", id: id)))
                    : .malformed(.invalid(field: "id"))),
            "the reader's word is not taken")
    }

    /// Foundation finds the same id in it.
    private static func foundation(_ bytes: [UInt8], _ route: Route) throws {
        guard !JSONProperties.isBeyondFoundation(bytes), !JSONProperties.hasMark(bytes) else {
            return
        }
        let json = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        let ours = json?["reprise"] as? [String: Any]
        let ids = [ours?["id"], ours?["goal"], json?["goalId"]].compactMap { $0 as? String }
        try hold(
            ids.contains { Array($0.utf8) == Array(route.id.utf8) },
            "Foundation reads \(ids), not \(route.id)")
    }

    // MARK: Links

    static func link(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let arrival = RouteArrival(link: text)
        let stored = try RouteArrival(payload: arrival.payload)
        try hold(stored == arrival, "the journal gives another link back")
        let reading = RouteReading(sort: "goal").read(stored)
        switch reading {
        case .read(let info):
            try bounds(info.route)
            try hold(text.utf8.count <= RouteLimits.link, "a link of \(text.utf8.count) bytes")
            let scheme = text.prefix { $0 != ":" }.lowercased()
            try hold(!["http", "https", ""].contains(scheme), "a link of \(scheme)")
            let again = RouteArrival(link: self.text(of: info.route))
            try hold(
                RouteReading(sort: "x").read(again) == reading, "read, written, read is another")
        case .malformed(let malformation):
            try refused(malformation)
            try hold(malformation != .notJSON, "a link is no JSON anyhow")
        }
    }

    /// The link of a route, with each byte escaped.
    private static func text(of route: Route) -> String {
        func escaped(_ text: String) -> String {
            text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        let path = [route.sort, route.id, route.part].compactMap(\.self).map(escaped)
        let owner = route.owner.map { "&owner=" + escaped($0) } ?? ""
        return "x://" + path.joined(separator: "/") + "?test=\(route.isTest ? 1 : 0)" + owner
    }

    // MARK: Entries

    static func entry(_ bytes: [UInt8]) throws {
        let arrival: RouteArrival
        do {
            arrival = try RouteArrival(payload: bytes)
        } catch let error as RepriseError {
            return try hold(error.code == .malformed, "refused with \(error)")
        }
        try hold(try RouteArrival(payload: arrival.payload) == arrival, "written is another")
        switch RouteReading(sort: "goal").read(arrival) {
        case .read(let info): try bounds(info.route)
        case .malformed(let malformation): try refused(malformation)
        }
    }

    // MARK: What holds of all

    private static func bounds(_ route: Route) throws {
        for (text, most) in [
            (route.sort, RouteLimits.routeSort), (route.id, RouteLimits.routeID),
            (route.part, RouteLimits.routeID), (route.owner, RouteLimits.routeOwner),
        ] {
            let count = text?.utf8.count
            try hold(count.map { (1...most).contains($0) } ?? true, "\(route)")
        }
    }

    /// The reader knows no users and no sorts: the resolver does.
    private static func refused(_ malformation: Malformation) throws {
        switch malformation {
        case .notJSON, .noRoute: break
        case .missing(let field), .invalid(let field):
            try hold(!field.isEmpty && field.utf8.count <= 16, "the field “\(field)”")
        case .newer(let version): try hold(version > 2, "version \(version) is not newer")
        case .anotherUser, .unknownSort: try hold(false, "\(malformation)")
        }
    }
}
