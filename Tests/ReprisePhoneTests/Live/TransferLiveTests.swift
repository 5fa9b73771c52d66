import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Transfers that the phone runs, over real sockets")
struct TransferLiveTests {
    private static let content = OddServer.content(300_000)

    private static func download(_ server: OddServer, _ path: String = "/file") -> AppCall {
        .startTransfer(TransferRequest(id: "t", direction: .download, url: server.url(path)))
    }

    @Test(
        "a download goes on while the app is dead, and launches it when it is done; its file is whole, and stays until it is forgotten"
    )
    func outlivesTheApp() async throws {
        let server = try await OddServer(
            OddServer.honest(Self.content, cut: 100_000, holds: true))
        try await ProbePhone.play(calls: [Self.download(server)]) { phone in
            try await phone.launch()
            try await phone.reaches(100_000)
            try await phone.kill()
            server.answers(OddServer.honest(Self.content))
            try await phone.offline()
            try await phone.online()
            try await phone.expects(.phone(.transferEnded, "t finished 206"))
            try await phone.expects(.phone(.connected, "transfers"))
            try await phone.expects(.report("transfersDone", "t finished 206 300000"))
            try await phone.expects(.phone(.suspended))
            #expect(try await phone.file() == Self.content)
            try await phone.kill()
            try await phone.script([.forgetTransfer("t"), .transfers])
            try await phone.launch()
            try await phone.expects(.report("called", ""))
            #expect(phone.transferFiles.isEmpty)
        }
        // The second attempt asked for the rest, and the answer to it was one of the rest.
        #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=100000-"])
    }

    @Test("an app that runs hears how far it is, and of the end; no other launch is made")
    func progress() async throws {
        let server = try await OddServer(OddServer.honest(Self.content))
        try await ProbePhone.play { phone in
            try await phone.slow(latency: .milliseconds(1), bytesPerSecond: 600_000)
            try await phone.script([Self.download(server)])
            try await phone.launch()
            try await phone.expects(.report("transferMoves"))
            try await phone.expects(.report("transferChanged", "t finished 200"))
            try await phone.hasNot(.report("transfersDone"))
            let log = try await phone.log()
            let began = try #require(log.first { $0.what == "transferRuns" }?.microseconds)
            let ended = try #require(log.first { $0.what == "transferEnded" }?.microseconds)
            // 300,000 bytes at 600,000 a second.
            #expect(ended - began >= 450_000)
        }
    }

    @Test("force-quit cancels a transfer, and the app finds it so when it is opened")
    func forceQuit() async throws {
        let server = try await OddServer(
            OddServer.honest(Self.content, cut: 1_000, holds: true))
        try await ProbePhone.play(calls: [Self.download(server)]) { phone in
            try await phone.launch()
            try await phone.reaches(1_000)
            try await phone.forceQuit()
            try await phone.expects(.phone(.transferEnded, "t cancelled"))
            try await phone.script([.transfers])
            try await phone.launch()
            try await phone.expects(.report("called", "t cancelled 0"))
            #expect(phone.transferFiles.isEmpty)
        }
    }

    @Test(
        "a phone that is killed during a transfer goes on with it when it starts, by the rule from where it was",
        arguments: PhoneRules.InterruptedDownload.allCases)
    func powerOff(rule: PhoneRules.InterruptedDownload) async throws {
        let server = try await OddServer(
            OddServer.honest(Self.content, cut: 100_000, holds: true))
        var rules = PhoneRules()
        rules.interruptedDownload = rule
        try await ProbePhone.play(calls: [Self.download(server)], rules: rules) { phone in
            try await phone.launch()
            try await phone.reaches(100_000)
            await phone.powerOff()
            server.answers(OddServer.honest(Self.content))
            try await phone.powerOn()
            try await phone.expects(
                .phone(.transferEnded, "t finished \(rule == .continued ? 206 : 200)"))
            try await phone.expects(.phone(.connected, "transfers"))
            #expect(try await phone.file() == Self.content)
        }
        #expect(
            server.requests.map { $0.headers["range"] }
                == [nil, rule == .continued ? "bytes=100000-" : nil])
    }

    @Test("content that has changed meanwhile is fetched anew, whole")
    func changedContent() async throws {
        let server = try await OddServer(
            OddServer.honest(Self.content, cut: 100_000, holds: true))
        let other = Array(Self.content.reversed())
        try await ProbePhone.play(calls: [Self.download(server)]) { phone in
            try await phone.launch()
            try await phone.reaches(100_000)
            server.answers(OddServer.honest(other, tag: "\"v2\""))
            try await phone.offline()
            try await phone.online()
            try await phone.expects(.phone(.transferEnded, "t finished 200"))
            #expect(try await phone.file() == other)
        }
    }

    @Test("a server that lies ends no transfer with a wrong file", arguments: Lie.allCases)
    func lies(lie: Lie) async throws {
        let server = try await OddServer(lie.answer(Self.content))
        try await ProbePhone.play(calls: [Self.download(server)]) { phone in
            if lie == .tooLarge { try await phone.storage(200_000) }
            try await phone.launch()
            if lie.isGivenUp {
                try await phone.expects(.phone(.transferEnded))
                guard case .failed = try await phone.app().transfers[0].state else {
                    Issue.record("it has not failed")
                    return
                }
                #expect(phone.transferFiles.isEmpty)
            } else {
                try await phone.expects(.phone(.transferWaits))
                if lie == .wrongRange {
                    // The lie is in the answer to the second request, which asks for the rest.
                    try await phone.advance(by: .seconds(600))
                    try await phone.expects(
                        .phone(.transferWaits, "t: the server gave something else than the rest"))
                }
                #expect(try await phone.app().transfers[0].state == .running)
                server.answers(OddServer.honest(Self.content))
                try await phone.advance(by: .seconds(600))
                try await phone.expects(.phone(.transferEnded))
                #expect(try await phone.file() == Self.content)
            }
        }
    }

    @Test(
        "redirects are followed, without what was for the first server alone; a status is an answer like another"
    )
    func redirects() async throws {
        let elsewhere = try await OddServer { _, answer in
            try await answer.head(404, ["content-length: 4"])
            try await answer.write("gone")
        }
        let place = elsewhere.url("/b")
        let server = try await OddServer { request, answer in
            if request.target == "/a" {
                try await answer.head(302, ["location: /c", "content-length: 0"])
            } else {
                try await answer.head(307, ["location: \(place)", "content-length: 0"])
            }
        }
        let request = TransferRequest(
            id: "t", direction: .download, url: server.url("/a"),
            headers: ["authorization": "secret", "x-mine": "kept"])
        try await ProbePhone.play(calls: [.startTransfer(request)]) { phone in
            try await phone.launch()
            try await phone.expects(.phone(.transferEnded, "t finished 404"))
            #expect(try await phone.file() == Array("gone".utf8))
        }
        #expect(server.requests.map { $0.headers["authorization"] } == ["secret", "secret"])
        #expect(elsewhere.requests.map { $0.headers["authorization"] } == [nil])
        #expect(elsewhere.requests.map { $0.headers["x-mine"] } == ["kept"])
    }

    @Test("an upload goes on while the app is dead; one whose file is gone has failed")
    func uploads() async throws {
        let server = try await OddServer { _, answer in
            try await answer.head(201, ["content-length: 0"])
        }
        try await ProbePhone.play { phone in
            let file = phone.folder.data(of: "probe").appendingPathComponent("photo")
            try Data(Self.content).write(to: file)
            try await phone.script([
                .startTransfer(
                    TransferRequest(
                        id: "up", direction: .upload(file: file), url: server.url(), method: "PUT")),
                .startTransfer(
                    TransferRequest(
                        id: "none", direction: .upload(file: file.appendingPathExtension("no")),
                        url: server.url(), method: "PUT")),
            ])
            try await phone.offline()
            try await phone.launch()
            try await phone.expects(.phone(.transferStarted, "none"))
            try await phone.kill()
            try await phone.slow(latency: .milliseconds(1), bytesPerSecond: 1_000_000)
            try await phone.expects(.phone(.transferEnded, "none failed: the file cannot be read"))
            try await phone.expects(.phone(.transferEnded, "up finished 201"))
            try await phone.expects(.phone(.connected, "transfers"))
        }
        #expect(server.requests.map(\.body.count) == [300_000])
        #expect(server.requests.map(\.method) == ["PUT"])
    }

    @Test("an app sees power, the price of the network and the room as they change")
    func conditions() async throws {
        try await ProbePhone.play { phone in
            try await phone.launch()
            try await phone.expects(
                .report("conditions", "network true, unmetered true, charging true"))
            try await phone.unplug()
            try await phone.expects(
                .report("conditions", "network true, unmetered true, charging false"))
            try await phone.metered(true)
            try await phone.expects(
                .report("conditions", "network true, unmetered false, charging false"))
            try await phone.offline()
            try await phone.expects(
                .report("conditions", "network false, unmetered false, charging false"))
        }
    }

    enum Lie: String, CaseIterable, CustomTestStringConvertible {
        case shorterThanAnnounced, wrongRange, unaskedCoding, redirectsForEver, notHTTP, tooLarge

        /// Trying again is of no use; else it is tried again.
        var isGivenUp: Bool {
            switch self {
            case .unaskedCoding, .redirectsForEver, .tooLarge: true
            case .shorterThanAnnounced, .wrongRange, .notHTTP: false
            }
        }

        var testDescription: String { rawValue }

        func answer(_ content: [UInt8]) -> OddServer.Script {
            switch self {
            case .shorterThanAnnounced: return OddServer.honest(content, cut: 1_000)
            case .wrongRange:
                return { request, answer in
                    guard request.from != nil else {
                        return try await answer.serve(content, request, cutAfter: 1_000)
                    }
                    try await answer.head(
                        206, ["content-range: bytes 7-9/10", "content-length: 3"])
                    try await answer.write([1, 2, 3])
                }
            case .unaskedCoding:
                return { _, answer in
                    try await answer.head(200, ["content-encoding: gzip", "content-length: 3"])
                    try await answer.write([31, 139, 8])
                }
            case .redirectsForEver:
                return { _, answer in
                    try await answer.head(302, ["location: /x", "content-length: 0"])
                }
            case .notHTTP:
                return { _, answer in
                    try await answer.write("HTTP/1.1 \u{1}\u{2}\r\n\r\n\u{0}\u{1}\u{2}")
                }
            case .tooLarge: return OddServer.honest(content)
            }
        }
    }
}

extension Phone {
    /// Waits until so many bytes of the first transfer have come.
    func reaches(_ bytes: Int64) async throws {
        try await eventually("\(bytes) bytes have come") {
            try await app().transfers.first?.bytes ?? 0 >= bytes
        }
    }

    /// The content of the first transfer's file.
    func file() async throws -> [UInt8]? {
        guard case .finished(_, let file?)? = try await app().transfers.first?.state else {
            return nil
        }
        return FileManager.default.contents(atPath: file.path).map(Array.init)
    }

    nonisolated var transferFiles: [String] {
        (try? FileManager.default.contentsOfDirectory(
            atPath: folder.url.appendingPathComponent("transfers").path)) ?? []
    }
}
