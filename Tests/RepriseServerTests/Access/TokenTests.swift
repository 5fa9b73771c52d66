import Foundation
import JWTKit
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Tokens")
struct TokenTests {
    let forge: TokenForge

    init() async throws { forge = try await TokenForge() }

    /// Good claims as JSON, with changes; nil leaves one out.
    func json(_ changes: [String: String?] = [:], raw: String = "") -> String {
        let now = forge.time.wall().milliseconds / 1_000
        var claims: [String: String?] = [
            "sub": #""ada""#, "aud": #""reprise""#, "exp": "\(now + 3_600)",
        ]
        claims.merge(changes) { $1 }
        let members = claims.compactMap { name, value in value.map { #""\#(name)":\#($0)"# } }
        return "{" + (members.sorted() + (raw.isEmpty ? [] : [raw])).joined(separator: ",") + "}"
    }

    func curveSigner() async throws -> any JWTAlgorithm {
        try await JWTKeyCollection().add(ecdsa: forge.curve).getKey()
    }

    /// What becomes of a token that is signed as it should be, with such a header and claims.
    func answer(
        header: String = #"{"alg":"ES256","kid":"curve"}"#, _ claims: String
    ) async throws -> RepriseError? {
        let token = try TokenForge.token(
            header: header, claims: claims, signedBy: try await curveSigner())
        let error = await failure { try await forge.authenticator().principal(of: token) }
        #expect(error == nil || error?.remedy != nil, "\(error as Any)")
        return error
    }

    @Test("a token of either algorithm gives the user, the admin right and the expiry")
    func good() async throws {
        let authenticator = forge.authenticator()
        for key in [forge.secretKey, forge.curveKey] {
            let issuer = try TokenIssuer(key: key)
            let token = try issuer.token(
                for: try UserID("auth0|5f7c"), isAdmin: true, now: forge.time.wall(),
                lifetime: .seconds(60))
            let principal = try await authenticator.principal(of: token)
            #expect(principal.user?.text == "auth0|5f7c")
            #expect(principal.isAdmin)
            #expect(principal.expires == forge.time.wall().advanced(by: .seconds(60)))
        }
        #expect(try await answer(json(["scope": #""read write""#])) == nil)
        #expect(
            try await !authenticator.principal(of: forge.token { $0.scopes = ["administrator"] })
                .isAdmin)
    }

    @Test("a connection without a token is asked for one")
    func missing() async {
        let error = await failure { try await forge.authenticator().principal(of: nil) }
        #expect(error?.code == .unauthorized && error?.remedy != nil)
    }

    @Test("an unsigned token is refused in every spelling of the algorithm none")
    func none() async throws {
        for name in ["none", "None", "NONE", "nOnE", ""] {
            for header in [#"{"alg":"\#(name)"}"#, #"{"alg":"\#(name)","kid":"secret"}"#] {
                let token = try TokenForge.token(header: header, claims: json(), signedBy: nil)
                let error = await failure { try await forge.authenticator().principal(of: token) }
                #expect(error?.code == .unauthorized)
            }
        }
        // The right name and no signature is no better.
        for name in ["ES256", "HS256"] {
            let kid = name == "ES256" ? "curve" : "secret"
            let token = try TokenForge.token(
                header: #"{"alg":"\#(name)","kid":"\#(kid)"}"#, claims: json(), signedBy: nil)
            let error = await failure { try await forge.authenticator().principal(of: token) }
            #expect(error?.code == .unauthorized)
        }
    }

    @Test("the public half of an ES256 key is not accepted as an HS256 secret in any form")
    func confusion() async throws {
        let pem = forge.curve.publicKey.pemRepresentation
        let parameters = try #require(forge.curve.parameters)
        let forms = [
            Array(pem.utf8), Array((pem + "\n").utf8),
            Array(try #require(Data(base64Encoded: parameters.x)))
                + Array(try #require(Data(base64Encoded: parameters.y))),
        ]
        let onlyPublic = try await KeySet([SigningKey(forge.curve.publicKey, name: "curve")])
        for form in forms {
            let key = try await JWTKeyCollection()
                .add(hmac: HMACKey(from: form), digestAlgorithm: .sha256).getKey()
            for header in [#"{"alg":"HS256","kid":"curve"}"#, #"{"alg":"HS256"}"#] {
                let token = try TokenForge.token(header: header, claims: json(), signedBy: key)
                for keys in [onlyPublic, forge.keys] {
                    let error = await failure {
                        try await forge.authenticator(keys).principal(of: token)
                    }
                    #expect(error?.code == .unauthorized)
                }
            }
        }
    }

    @Test("a token signed by another key is refused, with a name that is known or not")
    func otherKey() async throws {
        let other = try await JWTKeyCollection().add(ecdsa: ES256PrivateKey()).getKey()
        for header in [
            #"{"alg":"ES256","kid":"curve"}"#, #"{"alg":"ES256","kid":"other"}"#,
            #"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":"secret"}"#,
        ] {
            let token = try TokenForge.token(header: header, claims: json(), signedBy: other)
            let error = await failure { try await forge.authenticator().principal(of: token) }
            #expect(error?.code == .unauthorized && error?.remedy != nil)
        }
    }

    @Test("a token that names no known key is refused, also with a good signature")
    func wrongName() async throws {
        #expect(
            try await answer(header: #"{"alg":"ES256","kid":"x"}"#, json())?.code == .unauthorized)
        #expect(try await answer(header: #"{"alg":"ES256"}"#, json()) == nil, "it is the only one")
        let two = try await KeySet([forge.curveKey, SigningKey(ES256PrivateKey(), name: "second")])
        let token = try TokenForge.token(
            header: #"{"alg":"ES256"}"#, claims: json(), signedBy: try await curveSigner())
        let error = await failure { try await forge.authenticator(two).principal(of: token) }
        #expect(error?.code == .unauthorized)
    }

    @Test(
        "another curve and other algorithms are refused",
        arguments: ["ES384", "ES512", "RS256", "EdDSA", "HS512"])
    func otherAlgorithms(name: String) async throws {
        let key = try await JWTKeyCollection().add(ecdsa: ES384PrivateKey()).getKey()
        for kid in ["curve", "secret"] {
            for alg in [name, "ES256"] {
                let token = try TokenForge.token(
                    header: #"{"alg":"\#(alg)","kid":"\#(kid)"}"#, claims: json(), signedBy: key)
                let error = await failure { try await forge.authenticator().principal(of: token) }
                #expect(error?.code == .unauthorized)
            }
        }
    }

    @Test(
        "a header with unknown extensions, wrong types or repeated keys is refused",
        arguments: [
            #"{"alg":"ES256","kid":"curve","crit":["exp"],"exp":1}"#,
            #"{"alg":"ES256","kid":"curve","crit":[]}"#,
            #"{"alg":"ES256","kid":"curve","crit":null}"#,
            #"{"alg":"ES256","kid":"curve","crit":["b64"],"b64":false}"#,
            #"{"alg":"ES256","kid":"curve","typ":"logout+jwt"}"#,
            #"{"alg":"ES256","kid":"curve","typ":1}"#,
            #"{"alg":"none","alg":"ES256","kid":"curve"}"#,
            #"{"alg":"ES256","\u0061lg":"none","kid":"curve"}"#,
            #"{"alg":["ES256"],"kid":"curve"}"#, #"{"kid":"curve"}"#, #"{"alg":"ES256","kid":7}"#,
            #"["ES256"]"#, "", "null", #"{"alg":"ES256"} {"alg":"none"}"#,
        ])
    func headers(header: String) async throws {
        guard !header.isEmpty else {
            #expect(throws: RepriseError.self) { try AccessToken(".e30.c2ln") }
            return
        }
        #expect(try await answer(header: header, json())?.code == .unauthorized)
    }

    @Test("a key in a token's header is not used")
    func ownKeys() async throws {
        let mine = ES256PrivateKey()
        let parameters = try #require(mine.parameters)
        let key = try await JWTKeyCollection().add(ecdsa: mine).getKey()
        let jwk = #"{"kty":"EC","crv":"P-256","x":"\#(parameters.x)","y":"\#(parameters.y)"}"#
        for header in [
            #"{"alg":"ES256","kid":"curve","jwk":\#(jwk)}"#,
            #"{"alg":"ES256","jku":"https://evil.example/keys"}"#,
            #"{"alg":"ES256","kid":"../../etc/passwd"}"#,
        ] {
            let token = try TokenForge.token(header: header, claims: json(), signedBy: key)
            let error = await failure { try await forge.authenticator().principal(of: token) }
            #expect(error?.code == .unauthorized)
        }
    }

    @Test("claims that are there twice are refused, however they are spelled")
    func duplicates() async throws {
        for raw in [#""sub":"eve""#, #""\u0073ub":"eve""#, #""exp":99999999999"#] {
            #expect(try await answer(json(raw: raw))?.code == .unauthorized)
        }
    }

    @Test("claims that are missing or of a wrong kind are refused")
    func wrongClaims() async throws {
        let wrong: [[String: String?]] = [
            ["sub": nil], ["sub": "7"], ["sub": #""""#], ["sub": #""two words""#], ["sub": "null"],
            ["exp": nil], ["exp": #""tomorrow""#], ["exp": "-1"], ["exp": "1e300"], ["exp": "null"],
            ["exp": #""4102444800""#], ["nbf": #""x""#], ["iat": "[]"],
            ["aud": nil], ["aud": #""other""#], ["aud": "[]"], ["aud": #"["other","Reprise"]"#],
            ["aud": "7"], ["aud": "[7]"], ["scope": #"["admin"]"#],
            ["sub": "\"" + String(repeating: "a", count: 129) + "\""],
        ]
        for changes in wrong {
            let error = try await answer(json(changes))
            #expect(error?.code == .unauthorized, "\(changes)")
            let claim = try #require(changes.keys.first)
            #expect(error?.message.contains(claim) == true, "\(changes) \(error?.message ?? "")")
        }
        #expect(try await answer(json(["aud": #"["other","reprise"]"#])) == nil)
        #expect(try await answer(json(["exp": "1.8e9"]))?.code == nil)
        #expect(
            try await answer(json(["nbf": #""x""#]))?.message
                == "The token's claims cannot be used. The field nbf: a number of seconds since "
                + "1970 is expected, not a string.")
    }

    @Test(
        "too many claims or audiences are refused before they cost anything",
        .limit("access.fields"))
    func many() async throws {
        let claims = (0..<200).map { #""c\#($0)":0"# }.joined(separator: ",")
        #expect(try await answer(json(raw: claims))?.code == .unauthorized)
        let names = "[" + (0..<100).map { #""a\#($0)""# }.joined(separator: ",") + "]"
        #expect(try await answer(json(["aud": names]))?.code == .unauthorized)
        let nested = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        #expect(try await answer(json(["x": nested]))?.code == .unauthorized)
    }

    @Test("a huge token is refused before it is read", .limit("access.token", "access.leeway"))
    func huge() throws {
        let large = String(repeating: "a", count: WireLimits.tokenBytes)
        #expect(throws: RepriseError.self) { try AccessToken("a.\(large).a") }
    }

    @Test("a signature in a non-canonical encoding is refused")
    func canonical() async throws {
        let token = try forge.token()
        let last = try #require(token.secret.last)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let index = try #require(alphabet.firstIndex(of: last))
        let other = try AccessToken(String(token.secret.dropLast()) + String(alphabet[index | 1]))
        let authenticator = forge.authenticator()
        #expect(other != token)
        #expect(
            await failure { try await authenticator.principal(of: other) }?.code == .unauthorized)
    }

    @Test("a token with any one bit flipped is refused")
    func flipped() async throws {
        let good = Array(try forge.token().secret.utf8)
        let authenticator = forge.authenticator()
        for index in good.indices {
            var bytes = good
            bytes[index] ^= 1
            guard let token = try? AccessToken(String(decoding: bytes, as: UTF8.self)) else {
                continue
            }
            #expect(
                await failure { try await authenticator.principal(of: token) }?.code
                    == .unauthorized, "byte \(index)")
        }
    }

    @Test("a token counts from its start to its end, with a minute for clocks that differ")
    func times() async throws {
        let authenticator = forge.authenticator()
        let start = forge.time.wall()
        let token = try forge.token {
            $0.notBefore = start.advanced(by: .seconds(61))
            $0.expires = start.advanced(by: .seconds(600))
        }
        func code() async -> RepriseError.Code? {
            await failure { try await authenticator.principal(of: token) }?.code
        }
        #expect(await code() == .unauthorized)
        forge.time.advance(by: .seconds(1))
        #expect(await code() == nil)
        forge.time.advance(by: .seconds(658))
        #expect(await code() == nil, "59 s after its end")
        forge.time.advance(by: .seconds(1))
        #expect(await code() == .tokenExpired)
    }

    @Test("a clock that is a year off is named, with the distance")
    func skew() async throws {
        let year = Duration.seconds(365 * 86_400)
        let authenticator = forge.authenticator()
        let early = try forge.token {
            $0.issued = $0.issued?.advanced(by: year)
            $0.expires = $0.expires.advanced(by: year)
        }
        let tooEarly = await failure { try await authenticator.principal(of: early) }
        #expect(tooEarly?.code == .unauthorized)
        #expect(tooEarly?.description.contains("365 days") == true)
        #expect(tooEarly?.description.contains("clocks") == true)
        let old = try forge.token()
        forge.time.advance(by: year)
        let late = await failure { try await authenticator.principal(of: old) }
        #expect(late?.code == .tokenExpired)
        #expect(late?.description.contains("364 days") == true)
    }

    @Test("no error contains the token or a part of it")
    func silence() async throws {
        let token = try forge.token { $0.audiences = ["other"] }
        let error = await failure { try await forge.authenticator().principal(of: token) }
        let parts = token.secret.split(separator: ".").map(String.init) + [token.secret]
        for part in parts { #expect(error?.description.contains(part) == false) }
        #expect("\(token)" == "(a token)")
    }
}
