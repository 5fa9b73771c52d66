import Foundation
import RepriseChains
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Addresses", .timeLimit(.minutes(1)))
struct WorkerAddressTests {
    private static func isAsked(
        _ url: String, _ addresses: AddressGuard = AddressGuard(lookUp: { _ in ["93.184.216.34"] }),
        attempt: Int = 1
    ) async throws -> HTTPCall? {
        let asked = Mutex<HTTPCall?>(nil)
        let transport = FakeTransport { call in
            asked.withLock { $0 = call }
            return (HTTPHead(status: 200, headers: [:]), [])
        }
        let workers = StandardWorkers(
            sandbox: Sandbox([:]), transport: transport, guard: addresses)
        let worker = workers.all.compactMap { $0 as? HTTPRequestWorker }.first
        _ = try await worker?.run(.init(url: url), WorkContext(key: "k", attempt: attempt))
        return asked.withLock { $0 }
    }

    @Test(
        "of this machine and this link are refused for good, however they are written",
        arguments: [
            "http://127.0.0.1/", "http://127.9.9.9/", "http://0.0.0.0/", "http://169.254.169.254/",
            "http://[::1]/", "http://[::]/", "http://[fe80::1]/", "http://[febf::1]/",
            "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/",
            "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::169.254.169.254]/",
            "http://[2002:7f00:0001::]/", "http://[fd00:ec2::254]/", "http://[ff02::1]/",
            "http://224.0.0.1/", "http://255.255.255.255/", "http://0x7f.1/", "http://2130706433/",
            "http://0177.0.0.1/", "http://127.1/", "http://0x7f000001/", "http://127.0.0.1./",
            "http://127.0.0.0x1/", "http://127.0.0.01/", "http://017700000001/",
            "http://%31%32%37.0.0.1/", "http://１２７.0.0.1/", "http://127。0。0。1/",
            "http://[fe80::1%25eth0]/", "http://[127.0.0.1]/",
        ])
    func refusesNumbers(_ url: String) async throws {
        await #expect { _ = try await Self.isAsked(url) } throws: {
            $0.permanentCode == "addressRefused"
        }
    }

    @Test(
        "that are no http or https, name a user, or can be read in two ways are refused",
        .limit("workers.url"),
        arguments: [
            "file:///etc/passwd", "ftp://example.org/", "javascript:alert(1)", "example.org", "",
            "http://", "http:///x", "http://user@example.org/", "http://user:pass@example.org/",
            "http://example.org@127.0.0.1/", "http://127.0.0.1#@example.org/",
            "http://example.org\\@127.0.0.1/", "http://example.org:0/", "http://example.org:99999/",
            "http://example.org:8a/", "http://exa mple.org/", "http://example.org/\r\nX: y",
            "http://example.org/a\u{0}b", "http://bücher.example/", "http://[::1", "http://[::1]x/",
            "http://exam%70le.org/", "http://" + String(repeating: "a", count: 9_000),
        ])
    func refusesShapes(_ url: String) async throws {
        await #expect { _ = try await Self.isAsked(url) } throws: {
            $0.permanentCode == "addressRefused"
        }
    }

    @Test("of public hosts are connected to at a checked address; each attempt takes another one")
    func asksTheWorld() async throws {
        let both = AddressGuard(lookUp: { _ in ["93.184.216.34", "2606:2800:220:1::1"] })
        #expect(try await Self.isAsked("https://example.org", both)?.url == "https://example.org/")
        let first = try await Self.isAsked("HTTPS://Example.ORG:443/a?b=c#d", both)
        #expect(first?.url == "https://example.org/a?b=c")
        #expect(first?.address == "93.184.216.34")
        let second = try await Self.isAsked("https://example.org/", both, attempt: 2)
        #expect(second?.address == "2606:2800:220:1::1")
        #expect(try await Self.isAsked("http://8.8.8.8:81/x")?.url == "http://8.8.8.8:81/x")
        let six = try await Self.isAsked("http://[2606:2800:220:1::1]:81/x")
        #expect(six?.url == "http://[2606:2800:220:1::1]:81/x")
    }

    @Test(
        "of a name are all checked: one of this machine is enough to refuse it",
        arguments: [["127.0.0.1"], ["93.184.216.34", "::1"], ["fe80::1"], ["nonsense"]])
    func looksAtAll(_ found: [String]) async throws {
        let addresses = AddressGuard(lookUp: { _ in found })
        await #expect {
            _ = try await Self.isAsked("http://innocent.example/", addresses)
        } throws: {
            $0.permanentCode == "addressRefused"
        }
    }

    @Test(
        "of a name are used up to the first 64; those behind them are not checked",
        .limit("workers.addresses"))
    func useOfMany() async throws {
        let some = (0..<64).map { "93.184.216.\($0)" }
        let addresses = AddressGuard(lookUp: { _ in some + ["127.0.0.1"] })
        for (attempt, address) in [(1, some[0]), (64, some[63]), (65, some[0])] {
            let call = try await Self.isAsked("http://many.example/", addresses, attempt: attempt)
            #expect(call?.address == address)
        }
    }

    @Test(
        "of a silent name server are waited for ten seconds, and tried again",
        .limit("workers.lookUp"))
    func lookUpHangs() async throws {
        let time = ManualClock()
        let addresses = AddressGuard(
            clock: time,
            lookUp: { _ in
                try await Task.sleep(for: .seconds(3_600))
                return []
            })
        let asked = Task { try await Self.isAsked("http://slow.example/", addresses) }
        while time.sleepers.isEmpty { await Task.yield() }
        #expect(time.sleepers == [time.uptime() + .seconds(10)])
        time.advance(by: .seconds(10))
        await #expect {
            _ = try await asked.value
        } throws: {
            $0.errorCode == .timedOut
        }
    }

    @Test("localhost is this machine, by the system's own look-up")
    func refusesLocalhost() async throws {
        await #expect {
            _ = try await Self.isAsked("http://localhost:8080/", AddressGuard())
        } throws: {
            $0.permanentCode == "addressRefused"
        }
    }

    @Test("a name without an address is tried again")
    func triesUnknownNamesAgain() async throws {
        await #expect {
            _ = try await Self.isAsked("http://nowhere.invalid/", AddressGuard())
        } throws: {
            $0.errorCode == .unreachable
        }
    }

    @Test("are allowed by host and port, and by both")
    func allows() async throws {
        let addresses = AddressGuard(allowed: ["127.0.0.1:8080", "[::1]:81", "Localhost:82"])
        for url in ["http://127.0.0.1:8080/", "http://[::1]:81/", "http://localhost:82/"] {
            let call = try await Self.isAsked(url, addresses)
            #expect(call?.url == url)
            #expect(call?.address == nil)
        }
        for url in ["http://127.0.0.1:8081/", "http://[::1]/", "http://127.0.0.2:8080/"] {
            await #expect { _ = try await Self.isAsked(url, addresses) } throws: {
                $0.permanentCode == "addressRefused"
            }
        }
    }

    @Test(
        "of a private network are refused if the app says so",
        arguments: ["10.0.0.1", "172.31.0.1", "192.168.1.1", "100.64.0.1", "[fc00::1]"])
    func refusesPrivate(_ host: String) async throws {
        #expect(try await Self.isAsked("http://\(host)/") != nil)
        await #expect {
            _ = try await Self.isAsked(
                "http://\(host)/", AddressGuard(refusesPrivateNetworks: true))
        } throws: {
            $0.permanentCode == "addressRefused"
        }
        #expect(
            try await Self.isAsked(
                "http://\(host):90/",
                AddressGuard(allowed: ["\(host):90"], refusesPrivateNetworks: true)) != nil)
    }
}
