import RepriseCore
import RepriseNIO
import Testing

@Suite("Endpoint")
struct EndpointTests {
    @Test(
        "a URL is taken apart",
        arguments: [
            ("ws://127.0.0.1:8080/v1/connect", "127.0.0.1", 8080, "/v1/connect"),
            ("http://example.org", "example.org", 80, "/"),
            ("HTTP://example.org:1?a=b#c", "example.org", 1, "/?a=b"),
            ("ws://[::1]:65535/x?y=z", "::1", 65_535, "/x?y=z"),
            ("ws://[::1]", "::1", 80, "/"),
            ("wss://a/x", "a", 443, "/x"),
            ("HTTPS://a:8443", "a", 8443, "/"),
        ])
    func parses(url: String, host: String, port: Int, target: String) throws {
        let endpoint = try Endpoint(url)
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect(endpoint.target == target)
    }

    @Test(
        "a malformed URL is refused with a message that says how one looks",
        arguments: [
            "", "127.0.0.1:8080", "ftp://a", "ws://", "ws://:80", "ws://a:", "ws://a:0",
            "ws://a:65536",
            "ws://a:-1", "ws://a:+1", "ws://a:8 0", "ws://a b", "ws://[::1", "ws://[::1]x",
            "ws://ä",
            "ws://me:secret@a", "ws://a/\r\nX: y", "wss://", "https://a:x", "http://[[*1]:80/",
            "http://a]b",
        ])
    func refuses(url: String) {
        let error = #expect(throws: RepriseError.self) { try Endpoint(url) }
        #expect(error?.code == .badConfiguration)
        #expect(error?.remedy != nil)
    }

    @Test("IPv6 keeps its brackets where HTTP wants them")
    func authority() throws {
        #expect(try Endpoint("ws://[::1]:81").authority == "[::1]:81")
        #expect(try Endpoint("ws://a").authority == "a")
    }
}
