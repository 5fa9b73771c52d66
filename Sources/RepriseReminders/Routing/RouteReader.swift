import Foundation
public import RepriseCore

/// Reads routes from payloads of other formats, such as those of the app's own pushes.
///
/// ```swift
/// configuration.reminders?.readers = [
///     RouteReader("news") { info in
///         guard let push = try? JSONDecoder().decode(NewsPush.self, from: Data(info))
///         else { return .notMine }
///         return .route(Route(sort: "goal", id: push.goal))
///     }
/// ]
/// ```
///
/// Payloads that have none of Reprise's formats are given to the readers in order; the first result
/// other than `notMine` counts.
public struct RouteReader: Sendable {
    /// A reader's result.
    public enum Reading: Hashable, Sendable {
        /// It leads there.
        case route(Route)
        /// A payload of this reader's format, with an error.
        case malformed(Malformation)
        /// A payload of another format.
        case notMine
    }

    /// The reader's name, for the log.
    public let name: String
    let read: @Sendable (_ info: [UInt8]) -> Reading

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - name: for the log.
    ///   - read: must not wait, and must bear anything: the payload is a JSON object of at most
    ///     4,096 bytes and 16 levels.
    public init(_ name: String, _ read: @escaping @Sendable (_ info: [UInt8]) -> Reading) {
        self.name = name
        self.read = read
    }
}

/// The route in an arrival, before any look-up.
package struct RouteReading: Sendable {
    /// The sort for formats that do not contain one.
    package var sort: String
    package var readers: [RouteReader]

    package init(sort: String, readers: [RouteReader] = []) {
        self.sort = sort
        self.readers = readers
    }

    package func read(_ arrival: RouteArrival) -> ReminderInfo.Reading {
        if let link = arrival.link { return Self.read(link: link) }
        guard let info = arrival.info else { return .malformed(.notJSON) }
        return read(info: info)
    }

    package func read(info: [UInt8]) -> ReminderInfo.Reading {
        let ours = ReminderInfo.reading(info, sort: sort)
        guard ours == .malformed(.noRoute) else { return ours }
        for reader in readers {
            switch reader.read(info) {
            case .route(let route):
                if let field = route.wrongField { return .malformed(.invalid(field: field)) }
                return .read(ReminderInfo(route: route))
            case .malformed(let malformation): return .malformed(malformation)
            case .notMine: continue
            }
        }
        return ours
    }

    // MARK: Links

    /// Reads `scheme://sort/id/part?owner=…&test=1`, each part percent-encoded.
    static func read(link: String) -> ReminderInfo.Reading {
        guard link.utf8.count <= RouteLimits.link else {
            return .malformed(.invalid(field: "link"))
        }
        guard let colon = link.range(of: "://"), isScheme(link[..<colon.lowerBound]) else {
            return .malformed(.noRoute)
        }
        let rest = link[colon.upperBound...].prefix { $0 != "#" }
        let path = rest.prefix { $0 != "?" }
        var parts: [String] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: true) {
            guard let text = part.percentDecoded else {
                return .malformed(.invalid(field: "link"))
            }
            parts.append(text)
        }
        guard parts.count > 0 else { return .malformed(.missing(field: "sort")) }
        guard parts.count > 1 else { return .malformed(.missing(field: "id")) }
        guard parts.count <= 3 else { return .malformed(.invalid(field: "link")) }
        let query = Self.query(rest.dropFirst(path.count + 1))
        let route = Route(
            sort: parts[0], id: parts[1], part: parts.count > 2 ? parts[2] : nil,
            owner: query["owner"], isTest: query["test"] == "1")
        if let field = route.wrongField { return .malformed(.invalid(field: field)) }
        return .read(ReminderInfo(route: route))
    }

    /// An app's own, by RFC 3986 §3.1.
    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first | 0x20
        else { return false }
        let isRight = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isRight && !["http", "https"].contains(text.lowercased())
    }

    private static func query(_ text: Substring) -> [String: String] {
        var members: [String: String] = [:]
        for member in text.split(separator: "&") {
            let sides = member.split(separator: "=", maxSplits: 1)
            guard sides.count == 2 else { continue }
            members[String(sides[0])] = sides[1].percentDecoded
        }
        return members
    }
}

extension Route {
    /// The field that breaks its bounds; nil: none does.
    var wrongField: String? {
        func isRight(_ text: String?, _ bytes: Int) -> Bool {
            text.map { (1...bytes).contains($0.utf8.count) } ?? true
        }
        if !isRight(sort, RouteLimits.routeSort) { return "sort" }
        if !isRight(id, RouteLimits.routeID) { return "id" }
        if !isRight(part, RouteLimits.routeID) { return "part" }
        return isRight(owner, RouteLimits.routeOwner) ? nil : "owner"
    }
}
