import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// A machine on which `localhost` leads elsewhere: another file of hosts, in a mount namespace.
@Suite("serve: localhost", .enabled(if: TemporaryDisk.canMount))
struct LocalhostTests {
    /// RFC 7517, appendix A.1.
    private static let keySet =
        #"{"keys":[{"kty":"EC","crv":"P-256","use":"sig","kid":"1","#
        + #""x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","#
        + #""y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#

    @Test("localhost is this machine, regardless of the resolver: for the keys, and to listen on")
    func resolver() async throws {
        let folder = try TemporaryFolder()
        let hosts = try folder.write("127.0.0.9 localhost\n", to: "hosts")
        let secret = try folder.write(
            Data(repeating: 7, count: 48).base64EncodedString(), to: "secret")
        let keys = try OtherServer(
            answering: "HTTP/1.1 200 OK\r\nConnection: close\r\n"
                + "Content-Length: \(Self.keySet.utf8.count)\r\n\r\n\(Self.keySet)")
        let port = try #require(URL(string: keys.url)?.port)
        let server = Process()
        server.executableURL = URL(fileURLWithPath: "/bin/sh")
        server.arguments = [
            "-c",
            "exec unshare -m sh -c 'mount --bind \(hosts) /etc/hosts && exec \"$0\" \"$@\"' \"$0\" \"$@\"",
            Tool.Program.reprise.url.path, "serve", "--host", "localhost", "--port", "0", "--data",
            folder.path("data"), "--jwks", "http://localhost:\(port)/keys", "--json",
        ]
        server.standardOutput = try folder.file("output")
        try server.run()
        defer { kill(server.processIdentifier, SIGKILL) }
        try await eventually("it is ready") { folder.text("output").contains("\n") }
        let line =
            try JSONSerialization.jsonObject(with: Data(folder.text("output").utf8))
            as? [String: Any]
        let own = try #require(line?["port"] as? Int)
        let token = try await Tool.run("token", "--as", "ada", "--keys", secret)
        // With the keys it knows that the token is of none of them; without, it could not tell.
        let peer = try PlainSocket(port: own)
        try await peer.send(
            "GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                + token.output.trimmingCharacters(in: .newlines) + "\r\n\r\n")
        let answer = try await peer.receive(until: "}}")
        #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer)")
    }
}
