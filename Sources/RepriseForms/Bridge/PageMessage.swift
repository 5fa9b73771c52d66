package import RepriseCore
import RepriseWire

/// Messages from the page: docs/forms/bridge.md has each.
package struct PageMessage: Hashable, Sendable {
    /// One showing of one form.
    package struct Showing: Hashable, Sendable {
        package var event: EntryID
        package var form: String
        package var id: String
    }

    /// An action that a form requests from the app.
    package enum Action: Hashable, Sendable {
        case deepLink(String)
        case emit(name: String, properties: [UInt8])
    }

    /// The outcome of an event.
    package enum Result: Hashable, Sendable {
        case noMatch
        case shown
        case suppressed(form: String?, reason: String?)
        case expired(reason: String?)
        case error(reason: String?)
    }

    /// An event and its outcome.
    package struct Handled: Hashable, Sendable {
        package var id: EntryID
        package var result: Result
    }

    /// An event, and the time of its form by the host's calendar.
    package struct Postponed: Hashable, Sendable {
        package var id: EntryID
        package var until: WallTime
    }

    package enum Body: Hashable, Sendable {
        case hello(runtime: String, protocols: [Int64])
        case formsData(version: String)
        case catalogueRefused(version: String, reason: String, path: String)
        case showing(event: EntryID, form: String)
        case willAppear(Showing)
        case didAppear(Showing)
        case didDismiss(form: String, showing: String, how: String)
        case action(form: String, showing: String, id: String, Action)
        case submit(form: String, showing: String, id: String, answers: [UInt8])
        /// These were evaluated, and their form waits for its time or for the screen.
        case waiting([EntryID])
        /// The forms of these are due much later: the host keeps them until then.
        case later([Postponed])
        case handled([Handled])
        case log(level: String, text: String)
        /// The page did not understand the host.
        case fault(reason: String, about: String)
        case unknown(type: String)
        /// Unreadable; it keeps its place in the order.
        case malformed(type: String, why: String)
    }

    package var session: String
    package var number: Int64
    package var body: Body

    /// Reads a message.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` if not even its place in the order can
    ///   be read.
    package init(_ text: [UInt8]) throws {
        self = try JSONMembers.read(text) { members in
            let type = try members.string("type", limit: 64)
            var message = PageMessage(
                session: try members.string("session", limit: 64),
                number: try members.integer("n"), body: .unknown(type: type))
            let limit =
                type == "submit" || type == "action"
                ? FormsEngineLimits.submit : FormsEngineLimits.pageMessage
            guard text.count <= limit else {
                message.body = .malformed(type: type, why: "It has \(text.count) bytes.")
                return message
            }
            do {
                message.body = try Body(type: type, members)
            } catch {
                message.body = .malformed(type: type, why: "\(error)")
            }
            return message
        }
    }

    private init(session: String, number: Int64, body: Body) {
        self.session = session
        self.number = number
        self.body = body
    }
}

extension PageMessage.Body {
    fileprivate init(type: String, _ members: JSONMembers) throws {
        switch type {
        case "hello":
            self = .hello(
                runtime: try members.string("runtime", limit: 64),
                protocols: try members.integers("protocols"))
        case "formsData": self = .formsData(version: try members.string("version"))
        case "catalogueRefused":
            self = .catalogueRefused(
                version: try members.string("version"), reason: try members.string("reason"),
                path: try members.stringIfAny("path") ?? "")
        case "showing", "formWillAppear", "formDidAppear", "formDidDismiss", "action", "submit":
            self = try Self.ofForm(type, members)
        case "waiting":
            self = .waiting(
                try members.strings("events", limit: FormsEngineLimits.inFlight).map {
                    try EntryID($0)
                }
            )
        case "later":
            self = .later(
                try members.objects("events", limit: FormsEngineLimits.inFlight).map { event in
                    PageMessage.Postponed(
                        id: try EntryID(try event.string("id")),
                        until: WallTime(milliseconds: try event.integer("at")))
                })
        case "handled":
            let results = try members.objects("events", limit: FormsEngineLimits.inFlight).map {
                event in
                PageMessage.Handled(
                    id: try EntryID(try event.string("id")), result: try PageMessage.Result(event))
            }
            self = .handled(results)
        case "log":
            self = .log(
                level: try members.string("level", limit: 16), text: try members.string("text"))
        case "fault":
            self = .fault(
                reason: try members.string("reason"), about: try members.stringIfAny("about") ?? "")
        default: self = .unknown(type: type)
        }
    }

    private static func ofForm(_ type: String, _ members: JSONMembers) throws -> Self {
        let form = try members.string("form", limit: 64)
        if type == "showing" {
            return .showing(event: try EntryID(try members.string("event")), form: form)
        }
        let showing = try members.string("showing", limit: 64)
        switch type {
        case "formDidDismiss":
            return .didDismiss(
                form: form, showing: showing, how: try members.string("how", limit: 64))
        case "action":
            return .action(
                form: form, showing: showing, id: try id(members),
                try action(try members.members("action")))
        case "submit":
            return .submit(
                form: form, showing: showing, id: try id(members),
                answers: try members.object("answers"))
        default:
            let found = PageMessage.Showing(
                event: try EntryID(try members.string("event")), form: form, id: showing)
            return type == "formDidAppear" ? .didAppear(found) : .willAppear(found)
        }
    }

    private static func action(_ members: JSONMembers) throws -> PageMessage.Action {
        switch try members.string("type", limit: 64) {
        case "deepLink": .deepLink(try members.string("url"))
        case "emit":
            .emit(
                name: try members.string("name"),
                properties: members.has("properties")
                    ? try members.object("properties") : Array("{}".utf8))
        case let type: throw RepriseError(.malformed, "There is no action \(type).")
        }
    }

    /// Random, 32 hexadecimal digits: the same action or submit is recorded once.
    private static func id(_ members: JSONMembers) throws -> String {
        let id = try members.string("id", limit: 64)
        guard id.utf8.count == 32, id.allSatisfy(\.isHexDigit) else {
            throw RepriseError(.badID, "An id has 32 hexadecimal digits.")
        }
        return id.lowercased()
    }
}

extension PageMessage.Result {
    fileprivate init(_ members: JSONMembers) throws {
        let reason = try members.stringIfAny("reason")
        switch try members.string("result", limit: 64) {
        case "noMatch": self = .noMatch
        case "shown": self = .shown
        case "suppressed":
            self = .suppressed(form: try members.stringIfAny("form"), reason: reason)
        case "expired": self = .expired(reason: reason)
        case "error": self = .error(reason: reason)
        case let result: throw RepriseError(.malformed, "There is no result \(result).")
        }
    }
}
