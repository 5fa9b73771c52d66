import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("Web pages")
struct BrowserRulesTests {
    static func may(
        _ rules: BrowserRules, _ origins: [String], host: String?, isSecure: Bool = false
    ) -> Bool {
        rules.refusal(origins: origins, host: host, isSecure: isSecure, mustBeOurs: true) == nil
    }

    @Test("a program without an Origin header is let in")
    func programs() throws {
        let rules = try BrowserRules(origins: [], asksNobody: false)
        for host in ["127.0.0.1:8080", "chat.example.org", nil] {
            #expect(Self.may(rules, [], host: host))
        }
    }

    @Test("the server's own pages are let in by every spelling of its origin, other pages are not")
    func own() throws {
        let rules = try BrowserRules(origins: [], asksNobody: false)
        for (origin, host) in [
            ("http://chat.example.org", "chat.example.org"),
            ("HTTP://Chat.Example.org", "chat.example.org:80"),
            ("http://chat.example.org:8080", "CHAT.example.org:8080"),
            ("http://[::1]:8080", "[::1]:8080"),
        ] {
            #expect(Self.may(rules, [origin], host: host), "\(origin)")
        }
        for (origin, host) in [
            ("https://chat.example.org", "chat.example.org"),
            ("http://chat.example.org:81", "chat.example.org"),
            ("http://evil.example", "chat.example.org"),
            ("http://chat.example.org.evil.example", "chat.example.org"),
            ("http://evil.example/chat.example.org", "chat.example.org"),
            ("http://chat.example.org@evil.example", "chat.example.org"),
            ("null", "chat.example.org"), ("", "chat.example.org"), ("file://", "chat.example.org"),
            ("http://chat.example.org", nil),
        ] {
            #expect(!Self.may(rules, [origin], host: host), "\(origin)")
        }
        #expect(Self.may(rules, ["https://a.example"], host: "a.example", isSecure: true))
        #expect(!Self.may(rules, ["http://a.example"], host: "a.example", isSecure: true))
        #expect(!Self.may(rules, ["http://a.example", "http://a.example"], host: "a.example"))
    }

    @Test("pages of a configured origin may change things; requests that only read are not checked")
    func named() throws {
        let rules = try BrowserRules(
            origins: ["https://app.example.org", "http://localhost:5173"], asksNobody: false)
        #expect(Self.may(rules, ["https://app.example.org"], host: "chat.example.org"))
        #expect(Self.may(rules, ["https://app.example.org:443"], host: "chat.example.org"))
        #expect(Self.may(rules, ["http://localhost:5173"], host: "chat.example.org"))
        #expect(!Self.may(rules, ["http://app.example.org"], host: "chat.example.org"))
        #expect(
            rules.refusal(
                origins: ["http://evil.example"], host: "chat.example.org", isSecure: false,
                mustBeOurs: false) == nil)
    }

    @Test("an open server accepts no page by a host name that was made to point at it")
    func rebinding() throws {
        let rules = try BrowserRules(origins: ["https://app.example.org"], asksNobody: true)
        let foreign = [
            "evil.example:8080", "evil.example", "127.0.0.1.evil.example", "a.b", "@", "", "host",
            "host:8080",
        ]
        for host in foreign {
            #expect(!Self.may(rules, ["http://" + host], host: host), "\(host)")
            #expect(
                rules.refusal(origins: [], host: host, isSecure: false, mustBeOurs: false) != nil,
                "also only to read: \(host)")
        }
        for host in ["127.0.0.1:8080", "localhost:1", "[::1]:8080", "app.example.org"] {
            #expect(Self.may(rules, [], host: host), "\(host)")
        }
    }

    @Test(
        "a configured text that is not an origin is refused at the start",
        arguments: ["*", "example.org", "https://", "https://a/b", "https://a b", "ws://a", ""])
    func configuration(text: String) {
        #expect(throws: RepriseError.self) {
            try BrowserRules(origins: [text], asksNobody: false)
        }
    }

    @Test("only names that need no DNS look-up count as this machine")
    func loopback() {
        for name in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]"] {
            #expect(LoopbackName.isOne(name), "\(name)")
        }
        for name in [
            "", "localhost.evil.example", "127.0.0.1.evil.example", "127.1", "128.0.0.1", "0.0.0.0",
            "127.0.0.+1", "127.0.0.1 ", "127.0.0.256", "::", "example.org",
        ] {
            #expect(!LoopbackName.isOne(name), "\(name)")
        }
    }
}
