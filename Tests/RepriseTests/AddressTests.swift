import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A server's address")
struct AddressTests {
    private static let bad = [
        "", " ", "chat.example.org", "chat.example.org:8080", "ftp://x", "ws://x", "http://",
        "https://:443", "http:/x", "http://h:99999", "http://h:0", "http://a b", "http://h\n",
        "https://ada@h", "https://h?x=1", "https://h#x", "//h", "http//h",
    ]

    @Test("An address that can never be dialled is refused before a file is made", arguments: bad)
    func refused(address: String) async throws {
        let folder = try TemporaryFolder()
        let place = folder.appending("account")
        let error = try await #require(throws: RepriseError.self) {
            try await AccountClient.open(at: place, server: address, dialer: MemoryDialer())
        }
        #expect(error.code == .badAddress && error.remedy != nil)
        await expectError(.badAddress) {
            try await DeviceAccounts.open(
                at: place, server: address, dialer: MemoryDialer(),
                tokens: { _ in throw RepriseError(.unauthorized, "none") })
        }
        #expect(!FileManager.default.fileExists(atPath: place.path))
        let transport = NoServer()
        await expectError(.badAddress) {
            try await Self.forms(CatalogueSource(server: address, transport: transport))
        }
    }

    @Test(
        "An address that can be dialled is accepted as it is",
        arguments: [
            "http://127.0.0.1:1", "https://chat.example.org", "https://chat.example.org/",
            "http://[::1]:8080", "https://h/behind/a/proxy", "HTTPS://h",
        ])
    func taken(address: String) async throws {
        let folder = try TemporaryFolder()
        let reprise = try await AccountClient.open(
            at: folder.appending("account"), server: address, dialer: MemoryDialer())
        await reprise.close()
    }

    @Test("A catalogue that the app brings along and that cannot be read ends the feature's run")
    func badCatalogue() async throws {
        for text in ["", "{", "[]", #"{"format": "forms/2"}"#] {
            let error = try await #require(throws: RepriseError.self) {
                try await Self.forms(CatalogueSource(catalogue: text))
            }
            #expect(error.code == .malformed && error.remedy != nil, "\(text)")
        }
    }

    private static func forms(_ catalogue: CatalogueSource) async throws {
        let folder = try TemporaryFolder()
        var configuration = AccountClient.Configuration()
        configuration.forms = Forms.Configuration()
        let reprise = try await AccountClient.open(
            at: folder.appending("account"), server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: configuration)
        let running = Task {
            try await reprise.forms?.run(webViews: NoWebViews(), catalogue: catalogue)
        }
        // One that runs on is cut off, and has thrown nothing.
        let limit = Task {
            try await Task.sleep(for: .seconds(20))
            running.cancel()
        }
        let result = await running.result
        limit.cancel()
        await reprise.close()
        try result.get()
    }

    @Test("An error says what happened and what to do where Foundation asks for it")
    func localized() {
        let error = RepriseError(
            .diskFull, "The disk is full.", remedy: "Free some space and try again.",
            cause: RepriseError(.busy, "why"))
        #expect(error.localizedDescription == "The disk is full.")
        #expect(
            (error as any LocalizedError).recoverySuggestion == "Free some space and try again.")
        #expect((error as any LocalizedError).failureReason == "why")
    }
}
