import RepriseCommandLine
import RepriseCore
import RepriseWire

/// A company's catalogue on a server.
struct ServerForms: Sendable {
    /// The server's current catalogue.
    struct Current: Sendable {
        let tag: String
        let bytes: [UInt8]
        /// Nil if it is not one that this version of the tool can read.
        let catalogue: FormsCatalogue?
    }

    private static let path = ["v1", "forms"]

    let api: ServerAPI
    let company: String

    /// - Returns: nil if the company has none.
    /// - Throws: ``RepriseError``, ``CommandFailure``.
    func current() async throws -> Current? {
        let answer = try await api.exchange("GET", Self.path, query: ["company": company])
        switch answer.status {
        case 200:
            return Current(
                tag: answer.headers["etag"] ?? "", bytes: answer.body,
                catalogue: try? FormsCatalogue(answer.body))
        case 404 where Self.code(of: answer) == "noCatalogue": return nil
        default: throw api.failure(answer)
        }
    }

    /// - Parameters:
    ///   - former: the catalogue that the person has seen; if it has changed since, nothing is
    ///     replaced.
    ///   - new: the replacement.
    /// - Returns: the server's response.
    /// - Throws: ``RepriseError``, ``CommandFailure``.
    func replace(_ former: Current?, by new: FormsCatalogue) async throws -> HTTPMembers {
        let condition = former.map { ["if-match": $0.tag] } ?? ["if-none-match": "*"]
        let answer = try await api.exchange(
            "PUT", Self.path, query: ["company": company], headers: condition, body: new.bytes)
        guard answer.status == 200 || answer.status == 201 else { throw api.failure(answer) }
        return try api.members(answer.body)
    }

    private static func code(of answer: HTTPAnswer) -> String? {
        (try? HTTPMembers(answer.body))?.raw("error").flatMap { try? HTTPMembers($0) }?
            .text("code")
    }
}

/// The difference between catalogues, shown before apps get the new one.
enum FormsDifference {
    static func lines(from former: FormsCatalogue?, to new: FormsCatalogue) -> [String] {
        guard let former else { return [] }
        let old = contents(of: former)
        let now = contents(of: new)
        let added = new.forms.map(\.id).filter { old[$0] == nil }.map { "+ \($0)" }
        let removed = former.forms.map(\.id).filter { now[$0] == nil }.map { "- \($0)" }
        let changed = new.forms.map(\.id).filter { id in
            old[id].map { $0 != now[id] } ?? false
        }.map { "~ \($0)" }
        let all = added + removed + changed
        let version = former.version == new.version ? "" : "before: version \(former.version)"
        return [version].filter { !$0.isEmpty }
            + (all.isEmpty ? ["no form is another"] : Array(all.prefix(50)))
            + (all.count > 50 ? ["and \(all.count - 50) more"] : [])
    }

    /// Each form as the bytes it came as.
    private static func contents(of catalogue: FormsCatalogue) -> [String: [UInt8]] {
        guard let forms = try? HTTPMembers(catalogue.bytes).list("forms") else { return [:] }
        return Dictionary(
            zip(catalogue.forms.map(\.id), forms), uniquingKeysWith: { first, _ in first })
    }
}
