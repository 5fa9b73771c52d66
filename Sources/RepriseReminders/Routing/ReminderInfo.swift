package import RepriseCore
import RepriseJournal
import RepriseWire

/// The payload of a reminder's notification: its route and its occurrence.
///
/// ```json
/// {"reprise":{"v":2,"sort":"goal","id":"…","part":"…","owner":"…","test":true,
///             "reminder":"…","at":"2026-11-21T07:30","print":"…"}}
/// ```
///
/// Empty and false members are absent. Two older formats are still in use: see
/// ``reading(_:sort:)``.
package struct ReminderInfo: Hashable, Sendable {
    /// The version that is written.
    package static let version: Int64 = 2

    /// The target of a tap.
    package var route: Route
    /// The reminder's id, as in ``Reminder/id``.
    package var reminder: String?
    /// The occurrence that rings, as in ``RepriseCore/Occurrence/local``.
    package var occurrence: String?
    /// A digest of everything else in the request, by which the planner sees whether one that is
    /// pending is still right.
    package var print: String?

    package init(
        route: Route, reminder: String? = nil, occurrence: String? = nil, print: String? = nil
    ) {
        self.route = route
        self.reminder = reminder
        self.occurrence = occurrence
        self.print = print
    }

    /// The payload, a JSON object as UTF-8.
    package var payload: [UInt8] {
        var writer = JSONWriter(reserving: 256)
        writer.object { json in
            json.key("reprise")
            json.object { json in
                json.key("v")
                json.integer(Self.version)
                json.key("sort")
                json.string(route.sort)
                json.key("id")
                json.string(route.id)
                json.member("part", route.part)
                json.member("owner", route.owner)
                if route.isTest {
                    json.key("test")
                    json.bool(true)
                }
                json.member("reminder", reminder)
                json.member("at", occurrence)
                json.member("print", print)
            }
        }
        return writer.bytes
    }
}

extension JSONWriter {
    /// Writes a member, unless it is empty.
    mutating func member(_ key: StaticString, _ text: String?) {
        guard let text else { return }
        self.key(key)
        string(text)
    }
}

// MARK: Reading

extension ReminderInfo {
    /// The result of reading a payload.
    package enum Reading: Hashable, Sendable {
        case read(ReminderInfo)
        case malformed(Malformation)
    }

    /// Reads a notification's payload from any version of the app.
    ///
    /// Three formats contain a route: the one that ``payload`` writes;
    /// `{"reprise":{"v":1,"goal":…,"question":…}}` of two releases ago; and
    /// `{"goalId":…,"questionId":…,"isTest":…}` of apps without Reprise.
    ///
    /// - Parameters:
    ///   - payload: any bytes.
    ///   - sort: of the entity in the two older formats, which do not contain it.
    /// - Returns: the content, or the error.
    package static func reading(_ payload: [UInt8], sort: String) -> Reading {
        guard payload.count <= RouteLimits.payloadBytes,
            ForeignJSON.isShallow(payload, most: RouteLimits.payloadDepth)
        else { return .malformed(.notJSON) }
        do {
            return .read(try JSONMembers.read(payload) { try Self($0, sort: sort) })
        } catch let wrong as WrongField {
            return .malformed(wrong.malformation)
        } catch {
            return .malformed(.notJSON)
        }
    }

    private init(_ members: JSONMembers, sort: String) throws {
        if members.has("reprise") {
            guard let ours = try? members.members("reprise") else {
                throw WrongField(.invalid(field: "reprise"))
            }
            try self.init(ours: PayloadFields(ours), sort: sort)
        } else if members.has("goalId") || members.has("questionId") {
            let fields = PayloadFields(members)
            self.init(
                route: Route(
                    sort: sort, id: try fields.text("goalId", most: RouteLimits.routeID),
                    part: try fields.textIfAny("questionId", most: RouteLimits.routeID),
                    isTest: try fields.flag("isTest")))
        } else {
            throw WrongField(.noRoute)
        }
    }

    private init(ours fields: PayloadFields, sort: String) throws {
        switch try fields.number("v") {
        case 1:
            self.init(
                route: Route(
                    sort: sort, id: try fields.text("goal", most: RouteLimits.routeID),
                    part: try fields.textIfAny("question", most: RouteLimits.routeID)))
        case 2:
            self.init(
                route: Route(
                    sort: try fields.text("sort", most: RouteLimits.routeSort),
                    id: try fields.text("id", most: RouteLimits.routeID),
                    part: try fields.textIfAny("part", most: RouteLimits.routeID),
                    owner: try fields.textIfAny("owner", most: RouteLimits.routeOwner),
                    isTest: try fields.flag("test")),
                reminder: try fields.textIfAny("reminder", most: RouteLimits.routeID),
                occurrence: try fields.textIfAny("at", most: RouteLimits.routeID),
                print: try fields.textIfAny("print", most: RouteLimits.routeID))
        case let version where version > 2:
            throw WrongField(.newer(version: Int(clamping: version)))
        default: throw WrongField(.invalid(field: "v"))
        }
    }
}

/// The members of a payload, each right or named as the one that is wrong.
private struct PayloadFields {
    private let members: JSONMembers

    init(_ members: JSONMembers) { self.members = members }

    func text(_ field: String, most bytes: Int) throws -> String {
        guard !members.lacks(field) else { throw WrongField(.missing(field: field)) }
        guard let text = try? members.string(field), (1...bytes).contains(text.utf8.count) else {
            throw WrongField(.invalid(field: field))
        }
        return text
    }

    func textIfAny(_ field: String, most bytes: Int) throws -> String? {
        members.lacks(field) ? nil : try text(field, most: bytes)
    }

    func flag(_ field: String) throws -> Bool {
        guard !members.lacks(field) else { return false }
        guard let flag = try? members.bool(field) else {
            throw WrongField(.invalid(field: field))
        }
        return flag
    }

    func number(_ field: String) throws -> Int64 {
        guard !members.lacks(field) else { throw WrongField(.missing(field: field)) }
        guard let number = try? members.integer(field) else {
            throw WrongField(.invalid(field: field))
        }
        return number
    }
}

private struct WrongField: Error {
    let malformation: Malformation

    init(_ malformation: Malformation) { self.malformation = malformation }
}
