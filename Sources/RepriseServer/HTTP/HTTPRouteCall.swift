import Hummingbird
import RepriseCore
import RepriseWire

/// An authenticated request, with its path and query.
struct HTTPRouteCall: Sendable {
    let request: Request
    let parameters: Parameters
    let who: Principal

    /// The calling user; refused under open access, which has no users.
    func me() throws -> UserID {
        guard let user = who.user else {
            throw HTTPFailure(
                .forbidden, "forbidden", "This server does not ask who is who: it knows no users.")
        }
        return user
    }

    func channel() throws -> ChannelName {
        // A name needs no encoding, so one that cannot be decoded is invalid.
        try ChannelName(try decoded("channel", .badChannelName))
    }

    func user() throws -> UserID { try UserID(try decoded("user", .malformed)) }

    func id(_ name: String) throws -> EntryID { try EntryID(try decoded(name, .badID)) }

    private func decoded(_ name: String, _ code: RepriseError.Code) throws -> String {
        guard let text = parameters.get(name)?.percentDecoded else {
            throw RepriseError(code, "The path has a percent sign that does not encode anything.")
        }
        return text
    }

    // MARK: The query

    func query(_ name: Substring) throws -> String? { try request.parameter(name) }

    func query(_ name: Substring, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let text = try query(name) else { return nil }
        guard let value = Int64(text), range.contains(value) else {
            throw RepriseError(
                .malformed,
                "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }

    /// The number of entries in a page.
    func limit(_ usual: Int, atMost most: Int) throws -> Int {
        Int(try query("limit", in: 1...Int64(most)) ?? Int64(usual))
    }

    /// The entry after which a page begins.
    func after<Name>(_ make: (String) throws -> Name) throws -> Name? {
        try query("after").map(make)
    }
}

extension Request {
    /// A parameter of the query; a repeated one is refused, because parsers differ in which they
    /// take.
    func parameter(_ name: Substring) throws -> String? {
        let values = uri.queryParameters[values: name]
        guard values.count <= 1 else {
            throw RepriseError(
                .malformed, "The query has \(name) \(values.count) times.", remedy: "Send it once.")
        }
        return values.first.map(String.init)
    }
}
