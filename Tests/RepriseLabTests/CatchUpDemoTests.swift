import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@testable import RepriseLab

@Suite("demo catch-up")
struct CatchUpDemoTests {
    @Test(
        "Reprise loses nothing and is right; the original clients lose, and two of them are wrong")
    func fast() async throws {
        let result = try await LabTool.run(
            ["demo", "catch-up", "--fast", "--seed", "7", "--json"], limit: 100)
        #expect(result.status == 0, "\(result.error) \(result.output)")
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        #expect(report["passed"] as? Bool == true)
        #expect(result.output.contains(#""speed":8.0"#))
        let acknowledged = try #require(report["acknowledged"] as? Int)
        let live = try #require(report["live"] as? Int)
        #expect(acknowledged > 204 + 20, "there were live events")
        let ours = try Figures(report, "reprise")
        #expect(ours.applied == acknowledged && ours.lost == 0 && ours.again == 0)
        #expect(ours.live == live && ours.complete != nil && ours.wasComplete)
        for name in ["first", "repaired", "signalled"] {
            let theirs = try Figures(report, name)
            #expect(theirs.lost > 0 && theirs.applied + theirs.lost == acknowledged, "\(name)")
            #expect(!theirs.wasComplete, "\(name)")
        }
        // The seed's "60 s at most", an eighth of it: live events keep its 30 s of silence from
        // ever passing.
        let repaired = try Figures(report, "repaired")
        #expect(try #require(repaired.complete) >= 7_000)
        #expect(repaired.live == live, "it goes on")
        #expect(try Figures(report, "signalled").complete != nil)
    }

    private struct Figures {
        let applied: Int
        let lost: Int
        let again: Int
        let live: Int
        let complete: Int?
        let wasComplete: Bool

        init(_ report: [String: Any], _ name: String) throws {
            let object = try #require(report[name] as? [String: Any])
            applied = try #require(object["applied"] as? Int)
            lost = try #require(object["lost"] as? Int)
            again = try #require(object["again"] as? Int)
            live = try #require(object["live"] as? Int)
            complete = object["completeMilliseconds"] as? Int
            wasComplete = try #require(object["wasComplete"] as? Bool)
        }
    }

    @Test("its table fits into 80 columns")
    func columns() {
        let device = DeviceEvidence(applied: 123_456, live: 99_999, complete: .seconds(61))
        for line in Self.report(device).rest(.plain).split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test(
        "an event lost, one handled again, no word of its end: each is a violation",
        arguments: [
            (0, 0, true, true), (1, 0, true, false), (0, 1, true, false), (0, 0, false, false),
        ])
    func expectations(lost: Int, again: Int, saysSo: Bool, isKept: Bool) {
        let device = DeviceEvidence(
            applied: 9, again: again, lost: lost, complete: saysSo ? .seconds(1) : nil)
        #expect(Self.report(device).hasPassed == isKept)
    }

    private static func report(_ device: DeviceEvidence) -> TableReport {
        CatchUpDemo(seed: 999_999, speed: 8, settings: DemoSettings()).report(
            .init(
                acknowledged: 123_456, live: 99_999,
                devices: Dictionary(
                    uniqueKeysWithValues: DeviceRole.allCases.map { ($0, device) })),
            took: .seconds(15))
    }

    @Test("its timeline fits into 80 columns, whatever it has to say")
    func timeline() {
        let timeline = Timeline(DemoSettings(), CatchUpDemo.columns)
        let counts = Array(repeating: 99_999, count: 5)
        for text in ["the end", "the repaired client says: complete, by its timer"] {
            let lines = timeline.lines(counts, text, on: .plain)
            for line in lines { #expect(line.count <= 80, "\(line)") }
            let words = lines.map { $0.dropFirst(48) }.joined(separator: " ")
            #expect(words == text)
        }
    }

    @Test("parallel streams change the order of a backlog, and neither what comes nor its end")
    func streams() async throws {
        let channel = try ChannelName("north")
        let epoch = try Epoch("e")
        let time = WallTime(milliseconds: 0)
        var frames: [[UInt8]] = [
            ServerFrame.subscribed(.init(channel: channel, epoch: epoch, head: 40, floor: 0))
                .encoded()
        ]
        for seq in 1...42 as ClosedRange<Int64> {
            let event = ServerFrame.Event(
                channel: channel, seq: seq, prev: seq - 1, id: .random(), time: time,
                body: Array("null".utf8))
            frames.append(ServerFrame.event(event).encoded())
        }
        let complete = ServerFrame.syncComplete(
            .init(channel: channel, epoch: epoch, through: 40, time: time))
        frames.append(complete.encoded())
        let socket = try await ParallelStreams(dialer: OneBatch(frames: frames), seed: 7)
            .dial(url: "", protocol: "", maximumFrameBytes: 0)
        var came: [[UInt8]] = []
        while came.count < frames.count, let batch = try await socket.receive() { came += batch }
        #expect(came.count == frames.count && Set(came) == Set(frames))
        #expect(came != frames, "the order is another")
        #expect(came.last == complete.encoded(), "the end comes at the end")
        // A backlog of 40 over some streams; how many have come at once depends on the machine.
        #expect(came.prefix(10).contains(frames[42]), "what is live does not wait")
    }
}

/// A connection on which some frames come at once, and nothing more.
private struct OneBatch: SocketDialer {
    let frames: [[UInt8]]

    func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws -> any Socket {
        Batch(frames: frames)
    }

    private actor Batch: Socket {
        private var frames: [[UInt8]]?

        init(frames: [[UInt8]]) { self.frames = frames }

        func receive() async throws -> [[UInt8]]? {
            if let batch = frames {
                frames = nil
                return batch
            }
            try await Task.sleep(for: .seconds(3_600))
            return nil
        }

        func send(_ frames: [[UInt8]]) async throws {}
        func close(code: UInt16) async {}
        var closeCode: UInt16? { nil }
    }
}
