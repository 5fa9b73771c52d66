import Foundation
import Hummingbird
import HummingbirdTesting
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Holds docs/openapi.json against running servers: see ``OpenAPIExchanges`` and
/// Tests/Support/openapi/check.py.
@Suite("The OpenAPI document")
struct OpenAPITests {
    private static let document = Command.root.appending(path: "docs/openapi.json")

    @Test(
        "has every route and each of its answers, and the server answers nothing else",
        .limit("http.object", "http.listPages"))
    func keepsItsDocument() async throws {
        let exchanges = OpenAPIExchanges(try Self.operations())
        try await exchanges.run()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let recorded = URL(filePath: folder.path).appending(path: "recorded.json")
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
        let all: [String: Any] = [
            "routes": exchanges.routes, "exchanges": exchanges.recorder.exchanges,
        ]
        try JSONSerialization.data(withJSONObject: all).write(to: recorded)
        let (status, words) = try await Self.check(recorded)
        #expect(status == 0, "\(words)")
    }

    @Test("names the fields of each body that the server knows")
    func fields() throws {
        let known = [
            "ChannelSettings": RequestFields.channel, "ChannelChanges": RequestFields.channel,
            "Retention": RequestFields.retention, "MemberSettings": RequestFields.member,
            "Message": RequestFields.message, "Edit": RequestFields.edit,
            "Receipt": RequestFields.position, "DeviceSettings": RequestFields.device,
            "Profile": RequestFields.profile, "PresenceSetting": RequestFields.presence,
            "MuteSettings": RequestFields.mute, "QuietHours": RequestFields.quietHours,
        ]
        let json = try JSONSerialization.jsonObject(with: try Data(contentsOf: Self.document))
        let components = (json as? [String: Any])?["components"] as? [String: [String: Any]]
        let schemas = try #require(components?["schemas"] as? [String: [String: Any]])
        for (name, fields) in known {
            let properties = schemas[name]?["properties"] as? [String: Any]
            #expect(properties.map { Set($0.keys) } == Set(fields.map { "\($0)" }), "\(name)")
            #expect(schemas[name]?["additionalProperties"] as? Bool == false, "\(name)")
        }
    }

    @Test("is served as it stands in the repository")
    func isServed() async throws {
        try await withAPI { api in
            let answer = try await api.get("/openapi.json")
            #expect(answer.status == .ok)
            #expect(Data(answer.body.readableBytesView) == (try Data(contentsOf: Self.document)))
        }
    }

    /// The operations that ask for a token, with what their request bodies may be.
    private static func operations() throws -> [OpenAPIExchanges.Operation] {
        let json = try JSONSerialization.jsonObject(with: try Data(contentsOf: document))
        let paths = try #require((json as? [String: Any])?["paths"] as? [String: [String: Any]])
        return paths.flatMap { path, item in
            item.compactMap { method, value in
                guard let operation = value as? [String: Any], operation["responses"] != nil else {
                    return nil
                }
                return OpenAPIExchanges.Operation(
                    name: "\(method.uppercased()) \(path)",
                    hasBody: operation["requestBody"] != nil,
                    asksForToken: operation["security"] == nil)
            }
        }.sorted { $0.name < $1.name }
    }

    private static func check(_ recorded: URL) async throws -> (status: Int32, words: String) {
        let python = Command.python
        guard FileManager.default.isExecutableFile(atPath: python.path) else {
            return (1, "scripts/setup has not prepared \(python.path)")
        }
        return try await Command.run(
            python.path,
            [
                Command.root.appending(path: "Tests/Support/openapi/check.py").path, document.path,
                recorded.path,
            ])
    }
}
