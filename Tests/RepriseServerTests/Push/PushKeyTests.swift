import Crypto
import Foundation
import RepriseCore
import RepriseServer
import RepriseTesting
import Testing

@Suite("Keys that pushes are sent with")
struct PushKeyTests {
    private func read(_ text: String?) throws -> PushKey {
        let folder = try TemporaryFolder()
        let url = folder.url.appendingPathComponent("key.pem")
        if let text { try Data(text.utf8).write(to: url) }
        return try PushKey.read(url.path, setting: "--apns-key")
    }

    @Test("are read from both forms of PEM")
    func forms() throws {
        let key = P256.Signing.PrivateKey()
        let read = try read(key.pemRepresentation)
        #expect(read.key.rawRepresentation == key.rawRepresentation)
        #expect("\(read)" == "(private key)" && !"\(read)".contains("PRIVATE KEY-"))
    }

    @Test(
        "that cannot be used are refused with an error that says what is wrong and what to do",
        arguments: [
            (P384.Signing.PrivateKey().pemRepresentation, "P-384"),
            (P521.Signing.PrivateKey().pemRepresentation, "P-521"),
            (P256.Signing.PrivateKey().publicKey.pemRepresentation, "public half"),
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n", "encrypted"),
            ("nonsense", "no key"), ("", "no key"), (nil, "cannot be read"),
        ] as [(String?, String)])
    func refused(text: String?, says: String) throws {
        do {
            _ = try read(text)
            Issue.record("it was taken")
        } catch let error as RepriseError {
            #expect(error.code == .badConfiguration && error.message.contains(says))
            #expect(error.remedy != nil && error.cause == nil, "a cause might quote the key")
        }
    }

    @Test("settings that cannot be right are refused before a file is read")
    func settings() throws {
        let good = APNsSettings(
            keyFile: "none", keyID: "ABCDE12345", teamID: "ABCDE12345", topic: "org.example")
        try good.check()
        var bad: [APNsSettings] = []
        for change: (inout APNsSettings) -> Void in [
            { $0.keyID = "short" }, { $0.teamID = "with space" }, { $0.topic = "" },
            { $0.topic = "a/b" }, { $0.environment = .custom("http://example.org") },
            { $0.environment = .custom("https://example.org/path") },
            { $0.environment = .custom("staging") },
        ] {
            var settings = good
            change(&settings)
            bad.append(settings)
        }
        for settings in bad { #expect(throws: RepriseError.self) { try settings.check() } }
        #expect(throws: RepriseError.self) {
            try WebPushSettings(keyFile: "x", subject: "me").check()
        }
    }
}
