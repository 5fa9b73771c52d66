import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Reprise", .timeLimit(.minutes(1)))
struct RepriseTests {
    /// Answers hello and requests, and stores what is published, as the smallest server does.
    private static func serve(_ socket: MemorySocket) async throws {
        var decoder = FrameDecoder()
        var stored: [ServerFrame.Event] = []
        while let bytes = await socket.sent() {
            switch try decoder.clientFrame(bytes) {
            case .hello:
                let welcome = ServerFrame.Welcome(
                    version: 1, time: WallTime(milliseconds: 0), heartbeat: .seconds(25),
                    server: "small")
                socket.push([ServerFrame.welcome(welcome).encoded()])
            case .subscribe(let channels):
                for channel in channels {
                    let (name, epoch) = (channel.channel, try Epoch("e1"))
                    let head = Int64(stored.count)
                    let frames: [ServerFrame] =
                        [.subscribed(.init(channel: name, epoch: epoch, head: head, floor: 0))]
                        + stored.map { .event($0) }
                        + [
                            .syncComplete(
                                .init(
                                    channel: name, epoch: epoch, through: head,
                                    time: WallTime(milliseconds: 0)))
                        ]
                    socket.push(frames.map { $0.encoded() })
                }
            case .publish(let publish):
                let seq = Int64(stored.count + 1)
                let event = ServerFrame.Event(
                    channel: publish.channel, seq: seq, prev: seq - 1, id: publish.id,
                    time: WallTime(milliseconds: 1), body: publish.body)
                stored.append(event)
                let answer = ServerFrame.Published(
                    channel: publish.channel, id: publish.id, seq: seq)
                socket.push([
                    ServerFrame.event(event).encoded(), ServerFrame.published(answer).encoded(),
                ])
            case .unsubscribe, .receipt, .typing, .presence, .watch, .authenticate: break
            }
        }
    }

    @Test("the first example works: open, read, publish, run; and the ledger adds up")
    func firstExample() async throws {
        let folder = try TemporaryFolder()
        let dialer = MemoryDialer()
        let reprise = try await AccountClient.open(
            at: folder.appending("account"), server: "http://127.0.0.1:1", dialer: dialer)
        let general = try reprise.channel("general")
        let (heard, voice) = AsyncStream.makeStream(of: Message.self)
        try await general.read("inbox") { voice.yield($0) }
        let id = try await general.publish(#""hello""#)
        let running = Task { try await reprise.run() }
        let socket = try await dialer.accept()
        let serving = Task { try await Self.serve(socket) }
        var iterator = heard.makeAsyncIterator()
        let message = try #require(await iterator.next())
        #expect(message.id == id && message.json == #""hello""#)
        try await general.caughtUp()

        running.cancel()
        try await running.value
        serving.cancel()
        await reprise.close()
        let sum = try AccountClient.ledger(at: folder.appending("account"))
        #expect(sum.isBalanced && sum.accepted == 2 && sum.outcomes[.applied] == 2)
    }

    @Test("a second owner is refused, and the name of a channel is checked")
    func errors() async throws {
        let folder = try TemporaryFolder()
        let reprise = try await AccountClient.open(
            at: folder.url, server: "http://127.0.0.1:1", dialer: MemoryDialer())
        await expectError(.journalOwned) {
            _ = try await AccountClient.open(
                at: folder.url, server: "http://127.0.0.1:1", dialer: MemoryDialer())
        }
        expectError(.badChannelName) { try reprise.channel("../etc") }
        await reprise.close()
    }
}
