import Crypto
import Foundation
import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Apple's provider token over a restart", .timeLimit(.minutes(2)))
struct APNsTokenTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
    }

    private var file: String { folder.path + "/apns-token" }

    /// A process after the other, each with a provider of its own, and so much time between them.
    private func restarts(
        after pause: Duration, folder: String?, between: (WallTime) throws -> Void = { _ in }
    ) async throws -> (second: PushOutcome, tokens: Int) {
        try await APNsUnderTest.with { test in
            let first = try test.another(folder: folder)
            #expect(await first.send(test.push()) == .accepted)
            await first.close()
            test.clock.advance(by: pause)
            try between(test.clock.wall())
            let second = try test.another(folder: folder)
            let outcome = await second.send(test.push())
            await second.close()
            return (outcome, test.fake.tokenCount)
        }
    }

    @Test("a server that is started again goes on with the token that Apple knows")
    func kept() async throws {
        let (outcome, tokens) = try await restarts(after: .seconds(60), folder: folder.path)
        #expect(outcome == .accepted)
        #expect(tokens == 1)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect((mode as? Int).map { $0 & 0o777 } == 0o600)
    }

    @Test("without the stored token Apple would refuse the next one for 20 minutes")
    func forgotten() async throws {
        let (outcome, _) = try await restarts(after: .seconds(60), folder: nil)
        #expect(outcome == .unavailable(.seconds(60), "TooManyProviderTokenUpdates"))
    }

    @Test("a stored token that is old enough is replaced")
    func old() async throws {
        let (outcome, tokens) = try await restarts(after: .seconds(51 * 60), folder: folder.path)
        #expect(outcome == .accepted)
        #expect(tokens == 2)
    }

    @Test(
        "a stored token that this key has not signed is not sent",
        arguments: ["", "a.b.c", "e30.e30.AAAA", String(repeating: "x", count: 100_000)])
    func foreign(text: String) async throws {
        let file = file
        let (outcome, tokens) = try await restarts(after: .seconds(21 * 60), folder: folder.path) {
            _ in
            try Data(text.utf8).write(to: URL(filePath: file))
        }
        #expect(outcome == .accepted)
        #expect(tokens == 2)
    }

    @Test("a token that another key has signed, with all the right names, is not sent")
    func stolen() async throws {
        let (file, key) = (file, PushKey(P256.Signing.PrivateKey()))
        let (outcome, tokens) = try await restarts(after: .seconds(21 * 60), folder: folder.path) {
            now in
            let text = try key.token {
                $0.key("alg")
                $0.plain("ES256")
                $0.key("kid")
                $0.plain("KEY0000001")
            } claims: {
                $0.key("iss")
                $0.plain("TEAM000001")
                $0.key("iat")
                $0.integer(now.milliseconds / 1_000)
            }
            try Data(text.utf8).write(to: URL(filePath: file))
        }
        #expect(outcome == .accepted)
        #expect(tokens == 2)
    }

    @Test("a token that Apple refuses is not kept, so that a restart makes another")
    func refused() async throws {
        try await APNsUnderTest.with { test in
            let provider = try test.another(folder: folder.path)
            #expect(await provider.send(test.push()) == .accepted)
            #expect(FileManager.default.fileExists(atPath: file))
            test.fake.script { _, _ in
                .status(403, body: #"{"reason":"InvalidProviderToken"}"#)
            }
            #expect(await provider.send(test.push()) == .unauthorized("InvalidProviderToken"))
            #expect(!FileManager.default.fileExists(atPath: file))
            await provider.close()
        }
    }
}
