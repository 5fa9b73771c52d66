import Foundation
import HTTPTypes
import HummingbirdTesting
import RepriseCore
import RepriseServer
import Testing

@Suite("Ids over HTTP", .timeLimit(.minutes(1)))
struct OwnedIDRouteTests {
    private static func headers(_ user: String) -> HTTPFields {
        [
            .authorization: "Bearer " + TableAuthenticator.token(user),
            .contentType: "application/json",
        ]
    }

    @Test(
        "a user who takes another's id first, or deletes it before it comes, makes no message vanish"
    )
    func vanishes() async throws {
        try await withAPI(services: { $0.authenticator = TableAuthenticator() }) { api in
            let path = "/v1/channels/general/messages"
            let squatted = try await api.post(
                path, Self.headers("eve"), #"{"id":"one","body":"mine"}"#)
            #expect(squatted.status == .ok)
            let buried = try await api.send(.delete, path + "/two", Self.headers("eve"), [])
            #expect(buried.status == .ok)
            for id in ["one", "two"] {
                let taken = try await api.post(
                    path, Self.headers("ada"), #"{"id":"\#(id)","body":"hers"}"#)
                #expect(taken.status == .conflict && taken.errorCode == "conflict")
                let fresh = try await api.post(
                    path, Self.headers("ada"), #"{"id":"\#(id)-fresh","body":"hers"}"#)
                #expect(fresh.object?["duplicate"] == nil && fresh.status == .ok)
            }
            let history = try await api.get(path, Self.headers("ada"))
            #expect(history.text.components(separatedBy: #""body":"hers""#).count == 3)
        }
    }

    @Test(
        "an id of a channel that the caller cannot see is refused like one of a channel that he can see"
    )
    func hidden() async throws {
        try await withAPI(services: { $0.authenticator = TableAuthenticator() }) { api in
            for (channel, visibility) in [("open", "public"), ("closed", "private")] {
                let made = try await api.send(
                    .put, "/v1/channels/\(channel)", Self.headers("ada"),
                    Array(#"{"visibility":"\#(visibility)"}"#.utf8))
                #expect(made.status == .created)
                let stored = try await api.post(
                    "/v1/channels/\(channel)/messages", Self.headers("ada"),
                    #"{"id":"in-\#(channel)","body":1}"#)
                #expect(stored.status == .ok)
            }
            var answers: Set<String> = []
            for id in ["in-open", "in-closed"] {
                let answer = try await api.post(
                    "/v1/channels/open/messages", Self.headers("eve"), #"{"id":"\#(id)","body":1}"#)
                #expect(answer.status == .conflict)
                answers.insert(answer.text)
            }
            #expect(answers.count == 1)
        }
    }
}

extension APIUnderTest {
    fileprivate func get(_ path: String, _ headers: HTTPFields) async throws -> TestResponse {
        try await send(.get, path, headers, [])
    }
}
