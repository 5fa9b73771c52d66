import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// What the stand-in bears of those who talk to it: docs/limits.md, The phone.
@Suite("Bounds of the phone, over real sockets", .timeLimit(.minutes(1)))
struct PhoneLiveBoundTests {
    @Test(
        "a peer that takes nothing is cut off before more than 8 MiB wait for it",
        .limit("phone.unsent"))
    func deafPeer() async throws {
        let folder = try TemporaryFolder()
        let path = folder.appending("s").path
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: false)
            .bind(unixDomainSocketPath: path).get()
        let connection = try await LineConnection.connect(to: path)
        let line = [UInt8](repeating: 0x78, count: 999_999)
        var sent = 0
        while sent < 20, connection.sendRaw(line) { sent += 1 }
        #expect(sent == 8, "of a million bytes each")
        // It is cut off: nothing more is read from it either.
        await connection.readLines { _ in true }
        try await server.close()
    }

    /// What became of questions about the log.
    private final class Ends: Sendable {
        struct Counts: Hashable { var refused = 0, empty = 0, told = 0 }
        private let counts = Mutex(Counts())

        var seen: Counts { counts.withLock { $0 } }

        func ask(_ control: PhoneControl, since number: Int) async {
            do {
                let page = try await control.log(since: number, wait: .seconds(30))
                counts.withLock { page.isEmpty ? ($0.empty += 1) : ($0.told += 1) }
            } catch {
                #expect((error as? RepriseError)?.code == .closed)
                counts.withLock { $0.refused += 1 }
            }
        }
    }

    @Test(
        "1,000 questions of one connection are under way, and 1,000 wait for the log; beyond, no",
        .limit("phone.questions", "phone.pollers"))
    func questions() async throws {
        try await ProbePhone.play { phone in
            let many = try await PhoneControl.connect(to: phone.folder)
            let other = try await PhoneControl.connect(to: phone.folder)
            let last = try await other.log(since: 0).last?.number ?? 0
            let ends = Ends()
            let first = (0..<1_001).map { _ in Task { await ends.ask(many, since: last) } }
            try await eventually("\(ends.seen)") { ends.seen == Ends.Counts(refused: 1) }
            let more = (0..<5).map { _ in Task { await ends.ask(other, since: last) } }
            try await eventually("\(ends.seen)") { ends.seen == Ends.Counts(refused: 1, empty: 5) }
            // What happens next wakes them all.
            try await other.ask(.setCalendar(byMilliseconds: 1_000))
            for task in first + more { await task.value }
            #expect(ends.seen == Ends.Counts(refused: 1, empty: 5, told: 1_000))
            many.close()
            other.close()
        }
    }

    @Test("a page of the log has 1,000 events, and fewer if they are long", .limit("phone.logPage"))
    func pages() async throws {
        let folder = try TemporaryFolder()
        let phone = PhoneFolder(folder.appending("p"))
        try FileManager.default.createDirectory(at: phone.url, withIntermediateDirectories: true)
        var log = try PhoneLog(phone)
        try log.append(
            (1...1_500).map { number in
                PhoneEvent(
                    number: number, at: WallTime(milliseconds: 0), microseconds: 0, app: nil,
                    what: "what",
                    detail: number > 1_000 ? String(repeating: "x", count: 2_000) : "")
            })
        let running = try await Phone.start(
            in: phone.url,
            supervisor: Phone.Supervisor(program: .sibling("PhoneProbe"), arguments: ["phone"]))
        let control = try await PhoneControl.connect(to: phone)
        let short = try await control.log(since: 0)
        #expect(short.map(\.number) == Array(1...1_000))
        // 512 KiB, of which each takes 4,256 bytes.
        let long = try await control.log(since: 1_000)
        #expect(long.map(\.number) == Array(1_001...1_123))
        #expect(try await control.log(since: 1_123).first?.number == 1_124)
        control.close()
        await running.end()
    }

    @Test(
        "the first mebibyte of an app's output is kept, and the app never waits for its reader",
        .limit("phone.output"))
    func prints() async throws {
        try await ProbePhone.play { phone in
            let done = phone.folder.data(of: "loud").appendingPathComponent("done")
            try await phone.install(
                PhoneAppSpec(
                    id: "loud", executable: "/bin/sh",
                    arguments: [
                        "-c", "head -c 3000000 /dev/zero; : > \"$1\"; exec sleep 20", "loud",
                        done.path,
                    ]))
            try await phone.launch("loud")
            try await eventually("it has written its file") {
                FileManager.default.fileExists(atPath: done.path)
            }
            let kept = FileManager.default.contents(
                atPath: phone.folder.output(of: "loud").path)
            #expect(kept?.count == 1_048_576)
        }
    }

    @Test(
        "twenty redirects of a transfer are followed, and no twenty-first",
        .limit("phone.transferRedirects"))
    func redirects() async throws {
        let server = try await OddServer { request, answer in
            guard let left = Int(request.target.dropFirst()), left > 0 else {
                try await answer.head(200, ["content-length: 2"])
                return try await answer.write([1, 2])
            }
            try await answer.head(302, ["location: /\(left - 1)", "content-length: 0"])
        }
        try await ProbePhone.play(
            calls: [
                .startTransfer(
                    TransferRequest(id: "a", direction: .download, url: server.url("/20"))),
                .startTransfer(
                    TransferRequest(id: "b", direction: .download, url: server.url("/21"))),
            ]
        ) { phone in
            try await phone.launch()
            try await phone.expects(.phone(.transferEnded, "a finished 200"))
            try await phone.expects(
                .phone(
                    .transferEnded, "b failed: the server sends elsewhere more than 20 times"))
        }
    }

    @Test(
        "a transfer of more than 8 GiB has failed as soon as that is known",
        .limit("phone.transferSize"))
    func tooMuch() async throws {
        let server = try await OddServer { _, answer in
            try await answer.head(200, ["content-length: 8589934593"])
            try await answer.write([1, 2, 3])
            try await answer.hold()
        }
        try await ProbePhone.play(
            calls: [
                .startTransfer(
                    TransferRequest(id: "t", direction: .download, url: server.url()))
            ]
        ) { phone in
            try await phone.launch()
            try await phone.expects(
                .phone(.transferEnded, "t failed: it has more than 8589934592 bytes"))
        }
    }

    @Test(
        "an app hears of a transfer's progress at most ten times a second",
        .limit("phone.transferProgress"))
    func progress() async throws {
        let server = try await OddServer(OddServer.honest(OddServer.content(400_000)))
        try await ProbePhone.play { phone in
            try await phone.slow(latency: .milliseconds(1), bytesPerSecond: 800_000)
            try await phone.script([
                .startTransfer(
                    TransferRequest(id: "t", direction: .download, url: server.url()))
            ])
            try await phone.launch()
            try await phone.expects(.report("transferChanged", "t finished 200"))
            let log = try await phone.log()
            let began = try #require(log.first { $0.what == "transferRuns" }?.microseconds)
            let ended = try #require(log.first { $0.what == "transferEnded" }?.microseconds)
            let told = log.count { $0.what == "app.transferMoves" }
            #expect((1...Int((ended - began) / 100_000 + 1)).contains(told), "\(told)")
        }
    }

    @Test(
        "64 connections push at the same time, a further one is closed, and a place is free again",
        .limit("phone.endpoint")
    )
    func endpoint() async throws {
        try await ProbePhone.play { phone in
            let (ready, isReady) = AsyncStream<PushEndpoint.Address>.makeStream()
            let endpoint = Task {
                try await PushEndpoint(folder: phone.folder).run { isReady.yield($0) }
            }
            defer { endpoint.cancel() }
            var addresses = ready.makeAsyncIterator()
            let address = try #require(await addresses.next())
            let port = try #require(URL(string: address.url)?.port)
            var open: [any Channel] = []
            for _ in 0..<65 { open.append(try await Self.connect(port)) }
            // Which one is one too many depends on which loop is the faster.
            try await eventually("a connection is closed") { open.contains { !$0.isActive } }
            open.removeAll { !$0.isActive }
            #expect(open.count == 64)
            try await open.removeLast().close()
            // Its place is free a moment later: one that comes too soon is closed like the one
            // before.
            try await eventually("it is answered") { try await Self.isAnswered(port) }
            for channel in open { try? await channel.close() }
        }
    }

    private static func connect(_ port: Int) async throws -> any Channel {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port).get()
    }

    /// Whether an HTTP request on a connection of its own is answered.
    private static func isAnswered(_ port: Int) async throws -> Bool {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                        wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
            head.headers.add(name: "host", value: "127.0.0.1")
            try? await outbound.write(.head(head))
            try? await outbound.write(.end(nil))
            var answers = inbound.makeAsyncIterator()
            return (try? await answers.next()) != nil
        }
    }
}
