import HTTPTypes
import Hummingbird
import HummingbirdTesting
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("The catalogue of forms over HTTP")
struct FormsRoutesTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    static func catalogue(_ version: String, form: String = "welcome") -> String {
        #"{"format":"forms/1","version":"\#(version)","forms":[{"id":"\#(form)","title":"T","triggers":[{"event":"e"}]}]}"#
    }

    private static func put(
        _ api: APIUnderTest, _ text: String, _ headers: HTTPFields = [:],
        company: String = ""
    ) async throws -> TestResponse {
        var all = json
        for field in headers { all.append(field) }
        return try await api.send(.put, "/v1/forms" + company, all, Array(text.utf8))
    }

    private static func get(
        _ api: APIUnderTest, _ headers: HTTPFields = [:], _ method: HTTPRequest.Method = .get
    ) async throws -> TestResponse {
        try await api.send(method, "/v1/forms", headers, [])
    }

    @Test("comes back byte for byte, with an entity tag that avoids a second transfer")
    func comesBack() async throws {
        try await withAPI { api in
            let text = " \n" + Self.catalogue("1") + "\n"
            #expect(try await Self.get(api).status == .notFound)
            #expect(try await Self.put(api, text).status == .created)
            let first = try await Self.get(api)
            #expect(first.status == .ok)
            #expect(first.text == text)
            #expect(first.headers[.cacheControl] == "no-cache")
            let tag = try #require(first.headers[.eTag])
            for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                let again = try await Self.get(api, [.ifNoneMatch: known])
                #expect(again.status == .notModified, "\(known)")
                #expect(again.text == "")
                #expect(again.headers[.eTag] == tag)
            }
            for other in ["\"other\"", "other", "\"", "", tag.dropLast() + "x\""] {
                #expect(try await Self.get(api, [.ifNoneMatch: String(other)]).status == .ok)
            }
        }
    }

    @Test("is replaced at once, and another tag says so")
    func isReplaced() async throws {
        try await withAPI { api in
            let one = try await Self.put(api, Self.catalogue("1"))
            let two = try await Self.put(api, Self.catalogue("2"))
            #expect(two.status == .ok)
            #expect(two.object?["version"] as? String == "2")
            #expect(one.headers[.eTag] != two.headers[.eTag])
            let tag = try #require(one.headers[.eTag])
            let answer = try await Self.get(api, [.ifNoneMatch: tag])
            #expect(answer.text == Self.catalogue("2"))
        }
    }

    @Test("needs a new version for other content, and takes the same content again")
    func needsVersion() async throws {
        try await withAPI { api in
            _ = try await Self.put(api, Self.catalogue("1"))
            #expect(try await Self.put(api, Self.catalogue("1")).status == .ok)
            let other = try await Self.put(api, Self.catalogue("1", form: "other"))
            #expect(other.status == .conflict)
            #expect(other.errorCode == "conflict")
            #expect(try await Self.get(api).text == Self.catalogue("1"))
        }
    }

    @Test("is replaced only if If-Match names the current version")
    func isConditional() async throws {
        try await withAPI { api in
            #expect(
                try await Self.put(api, Self.catalogue("1"), [.ifMatch: "*"]).status
                    == .preconditionFailed)
            let first = try await Self.put(api, Self.catalogue("1"), [.ifNoneMatch: "*"])
            #expect(first.status == .created)
            let tag = try #require(first.headers[.eTag])
            #expect(
                try await Self.put(api, Self.catalogue("2"), [.ifNoneMatch: "*"]).errorCode
                    == "preconditionFailed")
            for wrong in ["\"x\"", "W/\(tag)", ""] {
                #expect(
                    try await Self.put(api, Self.catalogue("2"), [.ifMatch: wrong]).status
                        == .preconditionFailed, "\(wrong)")
            }
            #expect(try await Self.put(api, Self.catalogue("2"), [.ifMatch: tag]).status == .ok)
            #expect(
                try await Self.put(api, Self.catalogue("3"), [.ifMatch: tag]).status
                    == .preconditionFailed)
            #expect(try await Self.get(api).text == Self.catalogue("2"))
        }
    }

    @Test("is one for each company")
    func isOfCompany() async throws {
        try await withAPI { api in
            _ = try await Self.put(api, Self.catalogue("1"))
            let acme = try await Self.put(
                api, Self.catalogue("1", form: "acme"), company: "?company=acme")
            #expect(acme.status == .created)
            #expect(try await api.get("/v1/forms?company=acme").text.contains("acme"))
            #expect(try await api.get("/v1/forms?company=default").text == Self.catalogue("1"))
            #expect(try await api.get("/v1/forms?company=none").errorCode == "noCatalogue")
            for bad in ["?company=", "?company=a%20b", "?company=a&company=b"] {
                #expect(try await api.get("/v1/forms" + bad).status == .badRequest, "\(bad)")
            }
        }
    }

    @Test("is refused with line, pointer and what to do, and what was there stays")
    func isRefused() async throws {
        try await withAPI { api in
            _ = try await Self.put(api, Self.catalogue("1"))
            let bad = "{\"format\":\"forms/1\",\n\"version\":\"2\",\n\"forms\":[{\"id\":7}]}"
            let answer = try await Self.put(api, bad)
            #expect(answer.status == .unprocessableContent)
            #expect(answer.errorCode == "badCatalogue")
            let errors = try #require(answer.object?["errors"] as? [[String: Any]])
            #expect(
                errors.contains {
                    $0["pointer"] as? String == "/forms/0/id" && $0["line"] as? Int == 3
                })
            #expect(errors.allSatisfy { ($0["message"] as? String)?.isEmpty == false })
            #expect(try await Self.get(api).text == Self.catalogue("1"))
        }
    }

    @Test("is refused beyond 1 MiB, and in another type", .limit("http.catalogue"))
    func isBounded() async throws {
        try await withAPI { api in
            let large = Self.catalogue("1") + String(repeating: " ", count: 1_048_576)
            #expect(try await Self.put(api, large).status == .contentTooLarge)
            let all = Self.catalogue("1")
            let most = all + String(repeating: " ", count: 1_048_576 - all.utf8.count)
            #expect(try await Self.put(api, most).status == .created)
            let typed = try await api.send(
                .put, "/v1/forms", [.contentType: "text/plain"], Array(Self.catalogue("2").utf8))
            #expect(typed.status == .unsupportedMediaType)
        }
    }

    @Test("answers HEAD without its bytes, and other methods with those that it knows")
    func knowsItsMethods() async throws {
        try await withAPI { api in
            _ = try await Self.put(api, Self.catalogue("1"))
            let head = try await Self.get(api, [:], .head)
            #expect(head.status == .ok)
            #expect(head.headers[.eTag] == (try await Self.get(api).headers[.eTag]))
            #expect(head.text == "")
            for method in [HTTPRequest.Method.post, .delete, .patch, .options] {
                let answer = try await Self.get(api, [:], method)
                #expect(answer.status == .methodNotAllowed)
                #expect(answer.headers[.allow] == "GET, HEAD, PUT")
            }
        }
    }

    @Test("counts what came of each request")
    func counts() async throws {
        let metrics = ServerMetrics()
        try await withAPI(services: { $0.formsDone = { metrics.formsDone($0) } }) { api in
            _ = try await Self.get(api)
            _ = try await Self.put(api, "[]")
            _ = try await Self.put(api, Self.catalogue("1"))
            _ = try await Self.get(api)
            _ = try await Self.get(api, [.ifNoneMatch: "*"])
        }
        let text = metrics.text()
        for outcome in FormsOutcome.allCases {
            #expect(text.contains("reprise_forms_total{outcome=\"\(outcome.rawValue)\"} 1\n"))
        }
    }

    @Test("can be replaced by admins, and read by everybody")
    func isForAdmins() async throws {
        try await withAPI(services: { $0.authenticator = TableAuthenticator() }) { api in
            for (user, status) in [("ada", HTTPResponse.Status.forbidden), ("root", .created)] {
                let token = TableAuthenticator.token(user)
                let answer = try await Self.put(
                    api, Self.catalogue("1"), [.authorization: "Bearer \(token)"])
                #expect(answer.status == status)
            }
            #expect(try await Self.put(api, Self.catalogue("1")).status == .unauthorized)
            #expect(try await Self.get(api).status == .ok)
        }
    }
}
