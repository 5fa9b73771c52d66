import Foundation
import Logging
import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A node whose copy of the journal stays behind, and that answers every direct reading.
///
/// The copy is a mirror of the stream, with the same sequences, times and bytes, that is full after
/// six entries; a mapping of the server sends it what asks for the journal.
@Suite("A copy of the journal that never catches up", .timeLimit(.minutes(1)))
struct NatsFollowerTests {
    private static let mapping = """
        mappings { "$JS.API.DIRECT.GET.RP_tests_JOURNAL": "$JS.API.DIRECT.GET.BEHIND" }
        """
    private static let mirror = """
        {"name": "BEHIND", "mirror": {"name": "RP_tests_JOURNAL"}, "storage": "file",
         "num_replicas": 1, "allow_direct": true, "discard": "new", "max_msgs": 6}
        """

    @Test("What it lacks is read from who leads, one entry after the other, and all goes on")
    func behind() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(
            in: folder.url.appending(path: "nats"), Self.mapping)
        defer { server.kill() }
        let journal = try await NatsStore.journal(server.url)
        for number in UInt8(1)...20 { await journal.send([number]) }
        try await eventually("all is stored") { try await journal.status().last == 20 }
        let made = try await NatsPeer.request(server, "$JS.API.STREAM.CREATE.BEHIND", Self.mirror)
        #expect(made.contains(#""did_create":true"#), "\(made)")
        try await eventually("the copy is full") {
            try await NatsPeer.request(server, "$JS.API.STREAM.INFO.BEHIND", "")
                .contains(#""last_seq":6,"#)
        }
        // It answers as if there were no more than it has.
        let copied = try await journal.read(after: 3)
        #expect(copied.entries.map(\.sequence) == [4, 5, 6] && copied.last == 6)
        let lacking = try await journal.read(after: 6)
        #expect(lacking.entries.map(\.bytes) == [[7]] && lacking.last == 20)
        let end = try await journal.read(after: 20)
        #expect(end.entries.isEmpty && end.last == 20)

        let member = try await ClusterMember.join(
            journal, at: folder.path("view"), implicitChannels: true,
            logger: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
        let running = Task {
            try await member.replica.run { entry, _ in
                member.health.applied(entry.sequence, bytes: entry.bytes)
            }
        }
        try await eventually("it has caught up") { member.view.position.sequence >= 20 }
        #expect(member.problem == nil)
        member.health.heard(try await journal.status())
        let message = NewMessage(
            channel: try ChannelName("general"), id: .random(), body: Array(#"{"n":1}"#.utf8))
        _ = try await member.log.append([message])
        #expect(member.view.position.sequence >= 22, "a session, and the message")
        running.cancel()
        _ = await running.result
        await member.close()
    }
}
