import Foundation
import JWTKit
import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Keys")
struct KeyTests {
    let forge: TokenForge

    init() async throws { forge = try await TokenForge() }

    static func jwk(_ key: ES256PrivateKey, kid: String, isPrivate: Bool = false) throws -> String {
        let parameters = try #require(key.parameters)
        func url(_ text: String) -> String {
            text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
        return
            #"{"kty":"EC","crv":"P-256","use":"sig","kid":"\#(kid)","x":"\#(url(parameters.x))","y":"\#(url(parameters.y))"}"#
    }

    static func set(_ members: String...) -> [UInt8] {
        Array((#"{"keys":["# + members.joined(separator: ",") + "]}").utf8)
    }

    func principal(_ token: AccessToken, _ keys: KeySet) async throws -> Principal {
        try await forge.authenticator(keys).principal(of: token)
    }

    @Test("keys are read from a key set, a PEM of either half, and a secret in base64")
    func forms() async throws {
        let named = try forge.token()
        let token = try await TokenIssuer(key: SigningKey(forge.curve)).token(try forge.claims())
        for text in [
            forge.curve.pemRepresentation, forge.curve.publicKey.pemRepresentation,
            "\n" + forge.curve.publicKey.pemRepresentation + "\n",
        ] {
            let keys = try await KeySet.read(Array(text.utf8))
            #expect(try await principal(token, keys).user?.text == "ada")
            #expect(try await principal(named, keys).user?.text == "ada", "a key without a name")
        }
        let set = try await KeySet.read(Self.set(try Self.jwk(forge.curve, kid: "curve")))
        #expect(try await principal(named, set).user?.text == "ada")
        let secret = Data(TokenForge.secret).base64EncodedString()
        let signed = try TokenIssuer(key: forge.secretKey).token(try forge.claims())
        for text in [secret, secret + "\n", TokenForge.base64URL(TokenForge.secret)] {
            let keys = try await KeySet.read(Array(text.utf8))
            #expect(try await principal(signed, keys).user?.text == "ada")
        }
        let oct =
            #"{"kty":"oct","alg":"HS256","kid":"secret","k":"\#(TokenForge.base64URL(TokenForge.secret))"}"#
        let both = try await KeySet.read(Self.set(oct, try Self.jwk(forge.curve, kid: "curve")))
        #expect(both.keys.count == 2)
        #expect(try await principal(signed, both).user?.text == "ada")
        #expect(try await principal(named, both).user?.text == "ada")
    }

    @Test("keys for other uses, of other kinds and on other curves are left out")
    func leftOut() async throws {
        let good = try Self.jwk(forge.curve, kid: "curve")
        let keys = try await KeySet.read(
            Self.set(
                #"{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"r"}"#,
                #"{"kty":"EC","crv":"P-384","kid":"p","x":"AA","y":"AA"}"#,
                #"{"kty":"oct","alg":"HS512","kid":"h","k":"AA"}"#,
                good.replacing(#""sig""#, with: #""enc""#).replacing("curve", with: "enc"), good))
        #expect(keys.keys.map(\.name) == ["curve"])
    }

    @Test("a symmetric key in a key set from a URL is ignored")
    func published() async throws {
        let oct = #"{"kty":"oct","kid":"secret","k":"\#(TokenForge.base64URL(TokenForge.secret))"}"#
        let error = await failure { try await KeySet.read(Self.set(oct), isPublished: true) }
        #expect(error?.code == .badConfiguration)
    }

    @Test(
        "a text that is not a key is refused, and the error does not contain it",
        .limit("access.keySet", "access.keyName", "access.secret"),
        arguments: [
            "", "hunter2", "c2hvcnQ=", "{}", #"{"keys":[]}"#, #"{"keys":7}"#, #"{"keys":[7]}"#,
            #"{"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}]}"#,
            #"{"keys":[{"kty":"oct","k":"c2hvcnQ"}]}"#, "{",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            "-----BEGIN nonsense", String(repeating: "A", count: 300_000),
            #"{"keys":[{"kty":"oct","kid":"\#(String(repeating: "a", count: 257))","k":"\#(TokenForge.base64URL(TokenForge.secret))"}]}"#,
        ])
    func refused(text: String) async {
        let error = await failure { try await KeySet.read(Array(text.utf8)) }
        #expect(error?.code == .badConfiguration)
        if text.count > 6 { #expect(error?.description.contains(text) == false) }
    }

    @Test("two keys with one name, and too many keys, are refused", .limit("access.keySet"))
    func ambiguous() async throws {
        let one = try Self.jwk(forge.curve, kid: "a")
        let other = try Self.jwk(ES256PrivateKey(), kid: "a")
        #expect(await failure { try await KeySet.read(Self.set(one, other)) } != nil)
        let many = (0..<65).map { #"{"kty":"RSA","kid":"\#($0)"}"# }.joined(separator: ",")
        #expect(await failure { try await KeySet.read(Self.set(many)) } != nil)
        let twice = #"{"kty":"EC","kty":"oct"}"#
        #expect(await failure { try await KeySet.read(Self.set(twice)) } != nil)
    }

    @Test("a key file that is read again is used at once; a broken one changes nothing")
    func reload() async throws {
        let folder = try TemporaryFolder()
        let path = folder.url.appendingPathComponent("keys").path
        try Data(forge.curve.pemRepresentation.utf8).write(to: URL(fileURLWithPath: path))
        let file = try await KeyFile(path, logger: RunningServer.logger)
        let authenticator = TokenAuthenticator(
            keys: file, rules: TokenRules(audience: "reprise"), clock: forge.time)
        let old = try forge.token()
        #expect(try await authenticator.principal(of: old).user?.text == "ada")
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: path))
        await file.reload()
        #expect(try await authenticator.principal(of: old).user?.text == "ada")
        let next = ES256PrivateKey()
        try Data(next.pemRepresentation.utf8).write(to: URL(fileURLWithPath: path))
        await file.reload()
        #expect(await failure { try await authenticator.principal(of: old) }?.code == .unauthorized)
        let fresh = try await TokenIssuer(key: SigningKey(next)).token(try forge.claims())
        #expect(try await authenticator.principal(of: fresh).user?.text == "ada")
    }

    @Test("the key for development is made once, and readable by its user alone")
    func development() async throws {
        let folder = try TemporaryFolder()
        let data = folder.url.appendingPathComponent("data").path
        let key = try await DevelopmentKey.open(in: data)
        let again = try await DevelopmentKey.open(in: data)
        let token = try TokenIssuer(key: key).token(try forge.claims())
        #expect(try await principal(token, KeySet([again])).user?.text == "ada")
        let path = data + "/development.key"
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: data) == ["development.key"])
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(
            await failure { try await DevelopmentKey.open(in: data) }?.code == .badConfiguration)
    }

    @Test(
        "keys are fetched over TLS, or from this machine",
        arguments: [
            "http://id.example.org/keys", "ftp://127.0.0.1/keys", "https://", "keys",
            "https://me:secret@id.example.org/", "http://127.0.0.1.example.org/",
            "http://localhost.example.org/",
        ])
    func urls(url: String) {
        #expect(throws: RepriseError.self) { try KeySetURL(url) }
    }
}

@Suite("Keys from a URL")
struct RemoteKeyTests {
    /// A key set on somebody's server, without the server.
    final class HTTPPublisher: Sendable {
        struct State {
            var keys: [UInt8]?
            var fetches = 0
        }

        let state = Mutex(State())

        var fetches: Int { state.withLock(\.fetches) }

        func publish(_ keys: [String]) {
            state.withLock {
                $0.keys = Array((#"{"keys":["# + keys.joined(separator: ",") + "]}").utf8)
            }
        }

        func fail() { state.withLock { $0.keys = nil } }

        func get() throws -> [UInt8] {
            try state.withLock {
                $0.fetches += 1
                guard let keys = $0.keys else {
                    throw RepriseError(.unreachable, "Nobody is there.")
                }
                return keys
            }
        }
    }

    let publisher = HTTPPublisher()
    let forge: TokenForge
    let keys: RemoteKeys
    let authenticator: TokenAuthenticator
    let second = ES256PrivateKey()

    init() async throws {
        let publisher = publisher
        forge = try await TokenForge()
        keys = RemoteKeys(clock: forge.time, logger: RunningServer.logger) { try publisher.get() }
        authenticator = TokenAuthenticator(
            keys: keys, rules: TokenRules(audience: "reprise"), clock: forge.time)
        publisher.publish([try KeyTests.jwk(forge.curve, kid: "curve")])
    }

    func code(_ token: AccessToken) async -> RepriseError.Code? {
        await failure { try await authenticator.principal(of: token) }?.code
    }

    func secondToken() async throws -> AccessToken {
        try await TokenIssuer(key: SigningKey(second, name: "second")).token(try forge.claims())
    }

    @Test("the keys are fetched when the first token comes, once for all that come together")
    func first() async throws {
        let token = try forge.token()
        await withTaskGroup(of: RepriseError.Code?.self) { group in
            for _ in 0..<50 { group.addTask { await code(token) } }
            for await code in group { #expect(code == nil) }
        }
        #expect(publisher.fetches == 1)
    }

    @Test(
        "a token of a new key makes them be fetched again, at most every 30 s",
        .limit("access.fetch"))
    func rotation() async throws {
        let old = try forge.token()
        let fresh = try await secondToken()
        #expect(await code(old) == nil)
        #expect(await code(fresh) == .unauthorized, "asked a moment ago")
        publisher.publish([
            try KeyTests.jwk(forge.curve, kid: "curve"), try KeyTests.jwk(second, kid: "second"),
        ])
        forge.time.advance(by: .seconds(29))
        #expect(await code(fresh) == .unauthorized)
        #expect(publisher.fetches == 1)
        forge.time.advance(by: .seconds(1))
        #expect(await code(fresh) == nil)
        #expect(await code(old) == nil, "both count while both are published")
        #expect(publisher.fetches == 2)
    }

    @Test("tokens with unknown key names do not cause more fetches")
    func flood() async throws {
        #expect(await code(try forge.token()) == nil)
        forge.time.advance(by: .seconds(30))
        for number in 0..<200 {
            let key = try await SigningKey(second, name: "unknown-\(number)")
            let token = try TokenIssuer(key: key).token(try forge.claims())
            #expect(await code(token) == .unauthorized)
        }
        #expect(publisher.fetches == 2)
    }

    @Test("a key that vanishes from the set stops to count with the next fetch")
    func withdrawn() async throws {
        let old = try forge.token()
        #expect(await code(old) == nil)
        publisher.publish([try KeyTests.jwk(second, kid: "second")])
        forge.time.advance(by: .seconds(30))
        #expect(await code(try secondToken()) == nil)
        #expect(await code(old) == .unauthorized)
    }

    @Test(
        "a key that vanishes stops to count after ten minutes even if no other is used",
        .limit("access.keysStay"))
    func stale() async throws {
        let old = try forge.token { $0.expires = $0.expires.advanced(by: .seconds(3_600)) }
        #expect(await code(old) == nil)
        publisher.publish([try KeyTests.jwk(second, kid: "second")])
        forge.time.advance(by: .seconds(600))
        // The first one to ask sets a fetch off and does not wait for it; those that ask meanwhile
        // set off none.
        var asked = 0
        while await code(old) == nil, asked < 10_000 {
            asked += 1
            await Task.yield()
        }
        #expect(await code(old) == .unauthorized)
        #expect(publisher.fetches == 2)
    }

    @Test("a fetch that fails keeps the keys that were good")
    func failing() async throws {
        let old = try forge.token()
        #expect(await code(old) == nil)
        publisher.fail()
        forge.time.advance(by: .seconds(30))
        #expect(await code(try secondToken()) == .unauthorized)
        #expect(await code(old) == nil)
        publisher.publish([])
        forge.time.advance(by: .seconds(30))
        #expect(await code(try secondToken()) == .unauthorized)
        #expect(await code(old) == nil, "a set without a usable key is a failure too")
        #expect(publisher.fetches == 3)
    }

    @Test(
        "without keys a token is answered with unavailable; a new fetch follows after 5 s",
        .limit("access.fetch"))
    func none() async throws {
        publisher.fail()
        let token = try forge.token()
        #expect(await code(token) == .unavailable)
        #expect(await code(token) == .unavailable)
        #expect(publisher.fetches == 1)
        publisher.publish([try KeyTests.jwk(forge.curve, kid: "curve")])
        forge.time.advance(by: .seconds(5))
        #expect(await code(token) == nil)
    }
}
