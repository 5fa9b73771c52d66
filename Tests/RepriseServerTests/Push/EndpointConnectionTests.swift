import AsyncHTTPClient
import Foundation
import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Addresses of push endpoints", .timeLimit(.minutes(1)))
struct EndpointConnectionTests {
    /// Counts who connects to this machine, and says nothing.
    private final class Listener: Sendable {
        let port: Int
        private let socket: Int32
        private let count = Mutex(0)

        init() throws {
            let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let listens = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    bind(socket, generic, length) == 0 && listen(socket, 64) == 0
                        && getsockname(socket, generic, &length) == 0
                }
            }
            try #require(listens)
            self.socket = socket
            port = Int(UInt16(bigEndian: address.sin_port))
            _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        }

        /// How many have connected so far: also those that have gone again.
        func connections() -> Int {
            count.withLock { count in
                while case let one = accept(socket, nil, nil), one >= 0 {
                    count += 1
                    close(one)
                }
                return count
            }
        }

        deinit { close(socket) }
    }

    @Test("a name that resolves to this machine gets no connection, and no byte is sent to it")
    func nothingAtAll() async throws {
        let listener = try Listener()
        let names = ["push.example.org": "127.0.0.1", "PUSH.example.org": "127.0.0.1"]
        try await WebPushUnderTest.with(allowsPrivate: false, names: names) { test in
            for (index, host) in ["push.example.org", "PUSH.example.org"].enumerated() {
                test.service.listens(at: "https://\(host):\(listener.port)")
                let browser = test.service.subscribe("b\(index)")
                for _ in 0..<3 {
                    let outcome = await test.provider.send(test.push(to: browser))
                    #expect(outcome != .accepted)
                }
            }
        }
        #expect(listener.connections() == 0)
    }

    @Test("a listener of this test sees a connection that is made")
    func isSeen() async throws {
        let listener = try Listener()
        let names = ["push.example.org": "127.0.0.1"]
        try await WebPushUnderTest.with(names: names, answer: .seconds(1)) { test in
            test.service.listens(at: "https://push.example.org:\(listener.port)")
            let browser = test.service.subscribe("b1")
            async let outcome = test.provider.send(test.push(to: browser))
            try await eventually("it is dialled") { listener.connections() > 0 }
            _ = await outcome
        }
        #expect(listener.connections() > 0)
    }

    /// Names and where they lead, and how often that was asked.
    private final class Names: Sendable {
        struct Failure: Error {}

        let state = Mutex((addresses: ["8.8.8.8", "8.8.4.4"], asked: [String: Int](), isUp: true))

        func asked(_ name: String) -> Int { state.withLock { $0.asked[name] ?? 0 } }

        func clients(_ clock: any Timekeeper) -> EndpointClients {
            EndpointClients(EndpointGuard(), HTTPClient.Configuration(), clock: clock) { name in
                try self.state.withLock { state in
                    state.asked[name, default: 0] += 1
                    guard state.isUp else { throw Failure() }
                    return state.addresses
                }
            }
        }
    }

    @Test(
        "a name is looked up again after a minute, and the next address is tried when one fails",
        .limit("push.lookUp"))
    func lookedUpAgain() async throws {
        let (clock, names) = (ManualClock(), Names())
        let clients = names.clients(clock)
        func address(failing: Bool = false) async throws -> String? {
            let used = Mutex<String?>(nil)
            try? await clients.use(for: "push.example.org") { _, address in
                used.withLock { $0 = address }
                if failing { throw Names.Failure() }
            }
            return used.withLock { $0 }
        }
        for _ in 0..<3 { #expect(try await address() == "8.8.8.8") }
        #expect(names.asked("push.example.org") == 1)
        clock.advance(by: PushLimits.endpointLookUpLife)
        #expect(try await address() == "8.8.8.8" && names.asked("push.example.org") == 2)
        #expect(try await address(failing: true) == "8.8.8.8")
        for _ in 0..<2 { #expect(try await address() == "8.8.4.4") }
        #expect(names.asked("push.example.org") == 3)
        // A name server that is away is no reason to leave an address that was checked.
        names.state.withLock { $0.isUp = false }
        clock.advance(by: PushLimits.endpointLookUpLife)
        #expect(try await address() == "8.8.4.4" && names.asked("push.example.org") == 4)
        // One that leads elsewhere now is.
        names.state.withLock { $0 = (["10.0.0.1"], $0.asked, true) }
        clock.advance(by: PushLimits.endpointLookUpLife)
        await #expect(throws: EndpointClients.Refused.self) {
            try await clients.use(for: "push.example.org") { _, _ in }
        }
        await clients.close()
        await expectError(.closed) {
            try await clients.use(for: "push.example.org") { _, _ in }
        }
    }

    @Test(
        "connections are kept for 1,000 push services, and a name server that says nothing is waited for five seconds",
        .limit("push.lookUp")
    )
    func bounds() async throws {
        let (clock, names) = (ManualClock(), Names())
        let clients = names.clients(clock)
        for number in 0..<1_001 {
            clock.advance(by: .milliseconds(1))
            try await clients.use(for: "n\(number)") { _, _ in }
        }
        try await clients.use(for: "n1000") { _, _ in }
        try await clients.use(for: "n1") { _, _ in }
        #expect(names.asked("n1000") == 1 && names.asked("n1") == 1)
        try await clients.use(for: "n0") { _, _ in }
        #expect(names.asked("n0") == 2, "it was the oldest")
        await clients.close()

        let silent = EndpointClients(EndpointGuard(), HTTPClient.Configuration(), clock: clock) {
            _ in
            try await Task.sleep(for: .seconds(3_600))
            return []
        }
        let asked = Task { try await silent.use(for: "slow") { _, _ in } }
        try await eventually("it looks up") { !clock.sleepers.isEmpty }
        #expect(clock.sleepers == [clock.uptime() + .seconds(5)])
        clock.advance(by: .seconds(5))
        await expectError(.timedOut) { try await asked.value }
        await silent.close()
    }

    @Test(
        "a name with one private address gets no connection, in whatever order its addresses come")
    func oneOfMany() async throws {
        for addresses in ["8.8.8.8 127.0.0.1", "127.0.0.1 8.8.8.8"] {
            let names = ["push.example.org": addresses]
            try await WebPushUnderTest.with(allowsPrivate: false, names: names) { test in
                test.service.listens(at: "https://push.example.org:9")
                let browser = test.service.subscribe("b1")
                let outcome = await test.provider.send(test.push(to: browser))
                #expect(outcome == .refused("The endpoint leads into a private network."))
            }
        }
    }
}
