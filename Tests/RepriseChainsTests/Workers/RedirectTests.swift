import Foundation
import RepriseChains
import RepriseCore
import RepriseTestSupport
import Synchronization
import Testing

@Suite("Redirects", .timeLimit(.minutes(1)))
struct RedirectTests {
    /// Sends a request to a server that sends elsewhere; says what was asked, in order.
    private func follow(
        _ status: Int, _ places: [String], method: String = "GET", headers: [String: String] = [:],
        body: Data? = nil, credentials: Credentials? = nil
    ) async throws -> [HTTPCall] {
        let calls = Mutex([HTTPCall]())
        let transport = FakeTransport { call in
            let count = calls.withLock { calls in
                calls.append(call)
                return calls.count
            }
            guard count <= places.count else { return (HTTPHead(status: 200, headers: [:]), []) }
            return (HTTPHead(status: status, headers: ["location": places[count - 1]]), [])
        }
        let workers = StandardWorkers(
            sandbox: Sandbox([:]), transport: transport,
            guard: AddressGuard(lookUp: { _ in ["93.184.216.34"] }), credentials: credentials)
        let worker = try #require(workers.all.compactMap { $0 as? HTTPRequestWorker }.first)
        let input = HTTPRequestWorker.Input(
            method, url: "https://a.example/x/y?q=1", headers: headers, body: body)
        _ = try await worker.run(input, WorkContext(key: "k"))
        return calls.withLock { $0 }
    }

    @Test(
        "are resolved as RFC 3986 says",
        arguments: [
            ("/b", "https://a.example/b"), ("b", "https://a.example/x/b"),
            ("../b?c", "https://a.example/b?c"), ("//b.example/c", "https://b.example/c"),
            ("https://b.example", "https://b.example/"), ("?r=2", "https://a.example/x/y?r=2"),
        ])
    func areResolved(_ location: String, _ url: String) async throws {
        #expect(try await follow(302, [location]).last?.url == url)
    }

    @Test(
        "to an address that the first request must not reach are refused",
        arguments: [
            "https://127.0.0.1/", "https://169.254.169.254/latest/meta-data", "https://[::1]/",
            "//127.0.0.1/", "https://2130706433/", "file:///etc/passwd", "https://u@b.example/",
            "http://b.example/", "http://a.example/", "\\\\127.0.0.1\\", "javascript:x",
        ])
    func areChecked(_ location: String) async throws {
        for places in [[location], ["https://b.example/", location]] {
            await #expect { try await follow(307, places) } throws: {
                $0.permanentCode == "addressRefused"
            }
        }
    }

    @Test("are followed five times", .limit("workers.redirects"))
    func areBounded() async throws {
        #expect(try await follow(302, Array(repeating: "/n", count: 5)).count == 6)
        await #expect { try await follow(302, Array(repeating: "/n", count: 6)) } throws: {
            $0.permanentCode == "refused"
        }
    }

    @Test("send no secrets to another origin, and none after coming back")
    func keepSecrets() async throws {
        let secrets = ["Authorization": "a", "cookie": "b", "X-Other": "c"]
        let calls = try await follow(
            307, ["/same", "https://b.example/", "https://a.example/"], headers: secrets,
            credentials: { origin in ["X-Token": "for \(origin)"] })
        #expect(calls.map { $0.headers["Authorization"] } == ["a", "a", nil, nil])
        #expect(calls.map { $0.headers["cookie"] } == ["b", "b", nil, nil])
        #expect(calls.map { $0.headers["X-Other"] } == ["c", "c", "c", "c"])
        let token = "for https://a.example"
        #expect(calls.map { $0.headers["X-Token"] } == [token, token, nil, nil])
    }

    @Test("of a POST keep it with 308, become a GET with 303, and are refused with 301 and 302")
    func keepTheMethod() async throws {
        let body = Data("b".utf8)
        let kept = try await follow(308, ["/n"], method: "POST", body: body)
        #expect(kept.map(\.method) == ["POST", "POST"])
        #expect(kept.last?.body == .bytes([98]))
        let seen = try await follow(303, ["/n"], method: "POST", body: body)
        #expect(seen.map(\.method) == ["POST", "GET"])
        #expect(seen.last?.body == HTTPCall.Body.none)
        for status in [301, 302] {
            await #expect { try await follow(status, ["/n"], method: "POST", body: body) } throws: {
                $0.permanentCode == "refused"
            }
        }
    }

    @Test(
        "headers that would split or fake a request are not sent",
        arguments: [
            ("A", "b\r\nX: y"), ("A\nB", "c"), ("", "c"), ("A B", "c"), ("Host", "other.example"),
            ("Content-Length", "7"), ("Transfer-Encoding", "chunked"), ("A", "b\u{0}"),
        ])
    func checkHeaders(_ name: String, _ value: String) async throws {
        await #expect { try await follow(200, [], headers: [name: value]) } throws: {
            $0.permanentCode == "badConfiguration"
        }
    }
}
