import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// The journal in a real nats-server.
@Suite("The journal in NATS")
struct NatsJournalTests {
    private static let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }

    /// Starts a server, and leaves nothing behind.
    private func withServer(
        _ settings: String = "", _ body: (NatsServer, TemporaryFolder) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"), settings)
        defer { server.kill() }
        try await body(server, folder)
    }

    private func open(
        _ configuration: NatsConfiguration, implicitChannels: Bool = true
    ) async throws -> NatsJournal {
        var settings = NatsJournal.Settings()
        settings.implicitChannels = implicitChannels
        settings.maxBytes = 64 << 20
        return try await NatsJournal.open(
            configuration, cluster: ClusterName("tests"), settings, logger: Self.logger)
    }

    private func error(
        _ body: () async throws -> NatsJournal
    ) async -> RepriseError? {
        do {
            await (try await body()).close()
            return nil
        } catch {
            return error as? RepriseError
        }
    }

    @Test("A sent entry arrives live and can be read, with the same sequence, time and bytes")
    func roundTrip() async throws {
        try await withServer { server, _ in
            let journal = try await open(NatsConfiguration(server.url))
            #expect(journal.replicas == 1)
            let arrived = ArrivedEntries()
            journal.follow(arrived.put)
            #expect(try await journal.read(after: 0).entries.isEmpty)
            let entries: [[UInt8]] = [[1], [], [UInt8](repeating: 7, count: 900_000)]
            for entry in entries { await journal.send(entry) }
            var seen: [StoredEntry] = []
            while seen.count < entries.count { seen += try #require(await arrived.next()) }
            #expect(seen.map(\.sequence) == [1, 2, 3])
            #expect(seen.map(\.bytes) == entries)
            let now = SystemTimekeeper().wall()
            #expect(seen.allSatisfy { abs(($0.stamp.duration(to: now)) / .seconds(1)) < 60 })
            // The same clock, read later.
            let told = try #require(try await journal.status().time)
            #expect(
                seen.allSatisfy { $0.stamp <= told }
                    && abs(told.duration(to: now) / .seconds(1)) < 60)
            let (read, last) = try await journal.read(after: 1)
            #expect(read == Array(seen.dropFirst()))
            #expect(last == 3)
            let (none, end) = try await journal.read(after: 3)
            #expect(none.isEmpty && end == 3)
            await journal.close()
            #expect(await arrived.next() == nil)
        }
    }

    @Test("A message beside the journal reaches all gateways, and is not stored")
    func news() async throws {
        try await withServer { server, _ in
            let first = try await open(NatsConfiguration(server.url))
            let second = try await open(NatsConfiguration(server.url))
            var heard = first.said(on: .typing).makeAsyncIterator()
            var other = first.said(on: .presence).makeAsyncIterator()
            // A subscription counts once the server has it.
            _ = try await first.status()
            second.say([1, 2], on: .typing)
            second.say([7], on: .presence)
            second.say([3], on: .typing)
            #expect(await heard.next() == [1, 2])
            #expect(await heard.next() == [3])
            #expect(await other.next() == [7], "each subject has its own")
            #expect(try await second.status().last == 0)
            await first.close()
            await second.close()
            #expect(await heard.next() == nil)
            #expect(await other.next() == nil)
        }
    }

    @Test("The status of the stream has its size limit, its entries and its bytes")
    func status() async throws {
        try await withServer { server, _ in
            let journal = try await open(NatsConfiguration(server.url))
            let empty = try await journal.status()
            #expect(empty.maxBytes == 64 << 20 && empty.last == 0)
            await journal.send([1, 2, 3])
            try await eventually("it is stored") { try await journal.status().last == 1 }
            let status = try await journal.status()
            #expect(status.first == 1 && status.bytes > 3)
            server.kill()
            await expectError(.unavailable) { _ = try await journal.status() }
            await journal.close()
        }
    }

    @Test("A second gateway finds the journal of the first, over a restart of NATS too")
    func epoch() async throws {
        try await withServer { server, _ in
            let first = try await open(NatsConfiguration(server.url))
            await first.send([1, 2, 3])
            try await eventually("it is stored") {
                try await first.read(after: 0).last == 1
            }
            server.kill()
            try await eventually("it is gone") { !first.isConnected }
            try server.restart()
            try await eventually("it is there again") { first.isConnected }
            let second = try await open(NatsConfiguration(server.url))
            #expect(second.epoch == first.epoch)
            #expect(try await second.read(after: 0).entries.map(\.bytes) == [[1, 2, 3]])
            await first.close()
            await second.close()
        }
    }

    /// A way to a server that, once it is cut, leads to one that says nothing, for some dials.
    private static func silentProxy(to server: NatsServer, dials: Int) throws -> FaultProxy {
        let silent = FaultProxy.Plan.Connection([.init(.halfOpen(both: true), .toClient)])
        let connections = Array(repeating: silent, count: dials)
        return try FaultProxy(
            to: server.port, plan: FaultProxy.Plan([FaultProxy.Plan.Connection()] + connections))
    }

    @Test(
        "While a silent server is dialled the connection's number is known at once; then it is another"
    )
    func silentDial() async throws {
        try await withServer { server, _ in
            let proxy = try Self.silentProxy(to: server, dials: 2)
            let journal = try await open(NatsConfiguration("nats://127.0.0.1:\(proxy.port)"))
            let number = try #require(journal.connectionNumber)
            await proxy.cut()
            try await eventually("it is noticed") { journal.connectionNumber == nil }
            try await eventually("it is dialled") { proxy.report.connections == 2 }
            // The library holds its lock for 3 s.
            let began = ContinuousClock.now
            #expect(journal.connectionNumber == nil)
            #expect(began.duration(to: .now) < .seconds(1))
            try await eventually("it is there again") { journal.isConnected }
            _ = try await journal.read(after: 0)
            #expect(try #require(journal.connectionNumber) > number)
            await journal.close()
        }
    }

    /// How many messages the newest connection of the journal `tests` has sent.
    private static func sent(to server: NatsServer) async throws -> Int {
        struct Found: Decodable {
            struct Connection: Decodable {
                var cid: Int
                var name: String?
                var inMsgs: Int
            }
            var connections: [Connection]
        }
        let request = HTTPClientRequest(url: server.monitor + "/connz")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        let body = try await response.body.collect(upTo: 1 << 20)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let found = try decoder.decode(Found.self, from: Data(String(buffer: body).utf8))
        return found.connections.filter { $0.name == "reprise tests" }
            .max { $0.cid < $1.cid }?.inMsgs ?? 0
    }

    @Test("What is asked while no server is there is not kept for the next one")
    func askedWhileCutOff() async throws {
        try await withServer { server, _ in
            let proxy = try Self.silentProxy(to: server, dials: 3)
            let journal = try await open(NatsConfiguration("nats://127.0.0.1:\(proxy.port)"))
            await journal.send([1])
            try await eventually("it is stored") { try await journal.read(after: 0).last == 1 }
            await proxy.cut()
            try await eventually("it is noticed") { !journal.isConnected }
            for _ in 0..<2 {
                await expectError(.unavailable) { _ = try await journal.read(after: 0) }
            }
            try await eventually("it is there again") { journal.isConnected }
            #expect(try await journal.read(after: 0).last == 1)
            try await eventually("it is counted") { try await Self.sent(to: server) > 0 }
            #expect(try await Self.sent(to: server) == 1, "the last question alone")
            await journal.close()
        }
    }

    @Test("A gateway with other flags gets an error that says so")
    func otherFlags() async throws {
        try await withServer { server, _ in
            await (try await open(NatsConfiguration(server.url))).close()
            let failure = await error {
                try await open(NatsConfiguration(server.url), implicitChannels: false)
            }
            #expect(failure?.code == .badConfiguration)
            #expect(failure?.message.contains("A channel that nobody made") == true)
        }
    }

    private func open(
        _ server: NatsServer, _ access: AccessMode, cluster: String = "tests",
        maxBytes: Int64 = 16 << 20, _ logger: Logger = Self.logger
    ) async throws -> NatsJournal {
        var settings = NatsJournal.Settings(access)
        settings.maxBytes = maxBytes
        return try await NatsJournal.open(
            NatsConfiguration(server.url), cluster: ClusterName(cluster), settings, logger: logger)
    }

    @Test("A gateway that authenticates users in another way gets an error that names both ways")
    func otherAccess() async throws {
        try await withServer { server, _ in
            await (try await open(server, .development)).close()
            for (access, flags) in [
                (AccessMode.open, "without keys"), (.keys, "with --keys or --jwks"),
            ] {
                let failure = await error { try await open(server, access) }
                #expect(failure?.code == .badConfiguration)
                let words =
                    "This gateway runs \(flags), and those of the cluster tests with --dev."
                #expect(failure?.message == words, "\(failure as Any)")
            }
            await (try await open(server, .development)).close()
        }
    }

    @Test("A gateway is not ready once an earlier journal notes another authentication")
    func unknownAccess() async throws {
        try await withServer { server, folder in
            let epoch = Epoch.random()
            try await change(server, "CREATE", epoch)
            let lines = LoggedLines()
            let journal = try await open(server, .open, lines.logger(.notice))
            #expect(lines.all.contains { $0.hasPrefix("warning The journal does not say") })
            let member = try await ClusterMember.join(
                journal, at: folder.path("view"), implicitChannels: true, logger: Self.logger)
            member.health.heard(try await journal.status())
            #expect(member.problem == nil)
            try await change(server, "UPDATE", epoch, access: "development")
            member.health.heard(try await journal.status())
            #expect(member.problem?.contains("runs without keys") == true)
            await member.close()
            // A later version's.
            try await change(server, "UPDATE", epoch, access: "certificates")
            let failure = await error { try await open(server, .open) }
            #expect(failure?.message.contains("with certificates") == true, "\(failure as Any)")
        }
    }

    @Test("A journal that is made is told to the log, with the clusters that were there")
    func made() async throws {
        try await withServer { server, _ in
            func told(_ cluster: String) async throws -> [String] {
                let lines = LoggedLines()
                let journal = try await open(
                    server, .open, cluster: cluster, lines.logger(.notice))
                await journal.close()
                return lines.all.filter { $0.contains("There was no journal of the cluster") }
            }
            let first = try #require(try await told("c0").first)
            #expect(first.hasPrefix("notice "), "\(first)")
            #expect(first.contains("1 replica.") && first.contains("none known"))
            for number in 1...8 { #expect(try await told("c\(number)").count == 1) }
            let last = try #require(try await told("misspelt").first)
            #expect(last.hasPrefix("warning "), "\(last)")
            let others = "other_clusters=c0, c1, c2, c3, c4, c5, c6, c7 and 1 more "
            #expect(last.contains(others), "\(last)")
            #expect(try await told("c0").isEmpty)
            let tool = await error {
                try await NatsJournal.find(
                    NatsConfiguration(server.url), cluster: ClusterName("c00"), logger: Self.logger)
            }
            #expect(tool?.remedy?.contains("Others here: c0, c1") == true, "\(tool as Any)")
        }
    }

    @Test("While NATS does not make the journal, the log says why, with the bytes that were asked")
    func noSpace() async throws {
        try await withServer { server, _ in
            let lines = LoggedLines()
            let opening = Task {
                try await open(server, .open, maxBytes: 1 << 50, lines.logger(.notice))
            }
            try await eventually("it says what it waits for") {
                lines.all.contains {
                    $0.hasPrefix("notice not ready: ") && $0.contains("1125899906842624 bytes")
                        && $0.contains("insufficient storage")
                }
            }
            opening.cancel()
            await #expect(throws: CancellationError.self) { try await opening.value.close() }
        }
    }

    @Test("Without JetStream the error says that it is off")
    func noJetStream() async throws {
        try await withServer("jetstream: false") { server, _ in
            let failure = await error {
                try await NatsJournal.find(
                    NatsConfiguration(server.url), cluster: ClusterName("tests"),
                    logger: Self.logger)
            }
            #expect(failure?.code == .unavailable)
            #expect(failure?.message.hasPrefix("JetStream is off") == true, "\(failure as Any)")
        }
    }

    @Test("A journal for which nobody answers is told from one that is not there")
    func silentStream() async throws {
        let users = """
            authorization { users: [
              { user: "all", password: "secret" },
              { user: "some", password: "secret",
                permissions: { publish: { deny: "$JS.API.STREAM.INFO.>" } } }
            ] }
            """
        try await withServer(users) { server, _ in
            var configuration = try NatsConfiguration(server.url)
            configuration.credentials = .password(user: "all", password: "secret")
            await (try await open(configuration)).close()
            configuration.credentials = .password(user: "some", password: "secret")
            let failure = await error {
                try await NatsJournal.find(
                    configuration, cluster: ClusterName("tests"), logger: Self.logger)
            }
            #expect(failure?.code == .unavailable)
            let words = "The stream RP_tests_JOURNAL is there, and the node that leads it"
            #expect(failure?.message.hasPrefix(words) == true, "\(failure as Any)")
            let other = await error {
                try await NatsJournal.find(
                    configuration, cluster: ClusterName("other"), logger: Self.logger)
            }
            #expect(other?.message.hasPrefix("Nobody in NATS answers") == true, "\(other as Any)")
        }
    }

    @Test(
        "A stream with other settings gets an error that says which, and what they should be",
        arguments: [
            (#""max_age": 60000000000"#, "max_age", "0"), (#""max_msgs": 10"#, "max_msgs", "-1"),
            (#""discard": "old""#, "discard", #""new""#),
            (#""allow_direct": false"#, "allow_direct", "true"),
            (#""max_msg_size": 1000"#, "max_msg_size", "-1"),
        ])
    func otherSettings(change: String, name: String, should: String) async throws {
        try await withServer { server, _ in
            let epoch = Epoch.random()
            let stream = """
                {"name": "RP_tests_JOURNAL", "subjects": ["rp.tests.j"], "retention": "limits",
                 "storage": "file", "num_replicas": 1, "deny_delete": true,
                 "republish": {"src": "rp.tests.j", "dest": "rp.tests.live"},
                 "metadata": {"reprise_epoch": "\(epoch)", "reprise_implicit_channels": "true"},
                 \(name == "discard" ? "" : #""discard": "new","#)
                 \(name == "allow_direct" ? "" : #""allow_direct": true,"#)
                 "max_bytes": 1000000, \(change)}
                """
            let made = try await NatsPeer.request(
                server, "$JS.API.STREAM.CREATE.RP_tests_JOURNAL", stream)
            #expect(made.contains(#""did_create":true"#), "\(made)")
            let failure = await error { try await open(NatsConfiguration(server.url)) }
            #expect(failure?.code == .badConfiguration)
            let fault = ": \(name), which should be \(should)."
            #expect(failure?.message.hasSuffix(fault) == true, "\(failure as Any)")
        }
    }

    @Test("A stream of somebody else is left alone")
    func foreign() async throws {
        try await withServer { server, _ in
            _ = try await NatsPeer.request(
                server, "$JS.API.STREAM.CREATE.RP_tests_JOURNAL",
                #"{"name": "RP_tests_JOURNAL", "subjects": ["theirs"]}"#)
            let failure = await error { try await open(NatsConfiguration(server.url)) }
            #expect(failure?.code == .badConfiguration)
            #expect(failure?.message.contains("not a journal of Reprise") == true)
        }
    }

    @Test("A foreign message in the journal's stream changes nothing")
    func strangers() async throws {
        let store = try await NatsStore(clock: ManualClock())
        try await store.reopen()
        let room = try ChannelName("a")
        try await store.fill(room, 3)
        for body in ["", "test", "RpJn"] {
            let answer = try await NatsPeer.request(store.server, "rp.tests.j", body)
            #expect(answer.contains(#""seq""#), "\(answer)")
        }
        try await store.fill(room, 3)
        #expect(try store.log.head(of: room) == 6)
        await store.remove()
    }

    @Test("An entry that is forged on the live subject stops the gateway that applied it")
    func forged() async throws {
        let store = try await NatsStore(clock: ManualClock())
        try await store.reopen()
        let room = try ChannelName("a")
        try await store.fill(room, 3)
        let gateways = store.gateways
        // One that is behind would not take the forged one for the next.
        try await eventually("both have applied the same") {
            gateways[0].view.position == gateways[1].view.position
        }
        let last = gateways[0].view.position.sequence
        try await NatsPeer.publish(
            store.server, "rp.tests.live", "forged",
            ["Nats-Sequence: \(last + 1)", "Nats-Time-Stamp: 2026-01-01T00:00:00Z"])
        var fooled: [ClusterStore.Gateway] = []
        try await eventually("it was applied") {
            // One that has not compared its past for a while takes nothing.
            fooled = gateways.filter { $0.view.position.sequence > last }
            return !fooled.isEmpty
        }
        // The journal's own entry with this number is another one.
        _ = try await NatsPeer.request(store.server, "rp.tests.j", "real")
        for gateway in fooled {
            let error = await gateway.ended() as? RepriseError
            #expect(error?.code == .corrupt, "\(error as Any)")
            #expect(error?.remedy?.contains("remove this gateway's view") == true)
        }
        await store.close()
        store.server.kill()
    }

    /// Makes a journal's stream, or changes it, by hand.
    private func change(
        _ server: NatsServer, _ request: String, _ epoch: Epoch, deniesDelete: Bool = true,
        maxBytes: Int = 1_000_000, access: String? = nil
    ) async throws {
        let more = access.map { #", "reprise_access": "\#($0)""# } ?? ""
        let stream = """
            {"name": "RP_tests_JOURNAL", "subjects": ["rp.tests.j"], "discard": "new",
             "retention": "limits", "storage": "file", "num_replicas": 1, "allow_direct": true,
             "deny_delete": \(deniesDelete), "max_bytes": \(maxBytes),
             "republish": {"src": "rp.tests.j", "dest": "rp.tests.live"},
             "metadata": {"reprise_epoch": "\(epoch)", "reprise_implicit_channels": "true"\(more)}}
            """
        let answer = try await NatsPeer.request(
            server, "$JS.API.STREAM.\(request).RP_tests_JOURNAL", stream)
        #expect(!answer.contains(#""error""#), "\(answer)")
    }

    @Test("A full journal stores nothing; with more room what waits is stored, and all goes on")
    func full() async throws {
        try await withServer { server, folder in
            let epoch = Epoch.random()
            try await change(server, "CREATE", epoch, maxBytes: 200_000)
            let journal = try await open(NatsConfiguration(server.url))
            let member = try await ClusterMember.join(
                journal, at: folder.path("view"), implicitChannels: true, logger: Self.logger)
            let running = Task {
                try await member.replica.run { entry, _ in
                    member.health.applied(entry.sequence, bytes: entry.bytes)
                }
            }
            let body = Array(#"{"text":"\#(String(repeating: "x", count: 5_000))"}"#.utf8)
            func publish() async throws {
                let message = NewMessage(
                    channel: try ChannelName("general"), id: .random(), body: body)
                _ = try await member.log.append([message])
            }
            member.health.heard(try await journal.status())
            await expectError(.full) { for _ in 0..<60 { try await publish() } }
            // Somebody else fills what is kept free.
            for size in [16_384, 8_192, 4_096, 2_048, 1_024, 512, 256, 128, 64] {
                for _ in 0..<4 {
                    let answer = try await NatsPeer.request(
                        server, "rp.tests.j", String(repeating: "x", count: size))
                    if answer.contains(#""error""#) { break }
                }
            }
            let (last, sent) = (try await journal.status().last, member.replica.figures.sent)
            let waiting = Task { try await member.barrier.pass() }
            try await eventually("it was sent again") { member.replica.figures.sent >= sent + 2 }
            #expect(try await journal.status().last == last)
            try await change(server, "UPDATE", epoch)
            try await waiting.value
            member.health.heard(try await journal.status())
            try await publish()
            running.cancel()
            _ = await running.result
            await member.close()
        }
    }

    @Test("What the node that leads has lost is not passed over: the gateway waits, and names it")
    func hole() async throws {
        try await withServer { server, folder in
            let epoch = Epoch.random()
            try await change(server, "CREATE", epoch, deniesDelete: false)
            for number in 1...6 {
                _ = try await NatsPeer.request(server, "rp.tests.j", "\(number)")
            }
            let deleted = try await NatsPeer.request(
                server, "$JS.API.STREAM.MSG.DELETE.RP_tests_JOURNAL", #"{"seq": 4}"#)
            #expect(deleted.contains(#""success":true"#), "\(deleted)")
            try await change(server, "UPDATE", epoch)
            let journal = try await open(NatsConfiguration(server.url))
            #expect(try await journal.read(after: 0).entries.map(\.sequence) == [1, 2, 3])
            let behind = try await journal.read(after: 3)
            #expect(behind.entries.map(\.sequence) == [5, 6] && behind.last == 6)
            let member = try await ClusterMember.join(
                journal, at: folder.path("view"), implicitChannels: true, logger: Self.logger)
            let running = Task { try await member.replica.run() }
            try await eventually("it is named") {
                member.problem?.hasPrefix("Entry 4 of the journal is missing") == true
            }
            #expect(member.view.position.sequence == 3)
            let (reads, began) = (member.replica.figures.reads, ContinuousClock.now)
            try await eventually("it is asked for again") {
                member.replica.figures.reads >= reads + 4
            }
            #expect(began.duration(to: .now) > .milliseconds(400), "each time after a silence")
            running.cancel()
            _ = await running.result
            await member.close()
        }
    }

    private static let most = "9223372036854775807"

    @Test(
        "A number at its bound in somebody else's answer to a reading ends nothing",
        arguments: ["1", NatsJournalTests.most])
    func forgedEntries(sequence: String) async throws {
        let mapping = #"mappings { "$JS.API.DIRECT.GET.RP_tests_JOURNAL": "forged" }"#
        try await withServer(mapping) { server, _ in
            let journal = try await open(NatsConfiguration(server.url))
            async let answered: Void = NatsPeer.answer(
                server, "forged",
                [
                    (
                        "NATS/1.0\nNats-Sequence: \(sequence)\n"
                            + "Nats-Time-Stamp: 2026-11-28T12:00:00Z", "x"
                    ),
                    ("NATS/1.0 204 EOB\nNats-Num-Pending: \(Self.most)", ""),
                ])
            // Before somebody listens, nobody answers.
            try await eventually("it is answered") {
                guard let found = try? await journal.read(after: 0) else { return false }
                return found.last <= 1
            }
            try await answered
            await journal.close()
        }
    }

    @Test("A status with numbers at their bounds is no answer")
    func forgedStatus() async throws {
        try await withServer { server, _ in
            let journal = try await open(NatsConfiguration(server.url))
            server.kill()
            try await eventually("it is gone") { !journal.isConnected }
            try server.restart(
                #"mappings { "$JS.API.STREAM.INFO.RP_tests_JOURNAL": "forged" }"#)
            try await eventually("it is there again") { journal.isConnected }
            let state = #"{"bytes": \#(Self.most), "first_seq": 1, "last_seq": 1}"#
            async let answered: Void = NatsPeer.answer(
                server, "forged",
                [("NATS/1.0\nA: b", #"{"config": {"name": "RP"}, "state": \#(state)}"#)])
            var failure: RepriseError?
            try await eventually("it is answered") {
                do {
                    _ = try await journal.status()
                    return true
                } catch {
                    failure = error as? RepriseError
                    return failure?.message.hasSuffix("cannot be read.") == true
                }
            }
            #expect(failure?.message == "JetStream's answer cannot be read.")
            try await answered
            await journal.close()
        }
    }

    @Test("A NATS server with too small a message limit is refused at the start")
    func smallMessages() async throws {
        try await withServer("max_payload: 64KB") { server, _ in
            let failure = await error { try await open(NatsConfiguration(server.url)) }
            #expect(failure?.code == .badConfiguration)
            #expect(failure?.remedy?.contains("max_payload") == true)
        }
    }

    // MARK: Who may

    @Test("Without a server, or without JetStream, the error says what to start")
    func nobody() async throws {
        let failure = await error { try await open(NatsConfiguration("nats://127.0.0.1:1")) }
        #expect(failure?.code == .unreachable)
    }

    @Test("A user with the right password is let in, and with another refused")
    func password() async throws {
        try await withServer(#"authorization { user: "anna", password: "secret" }"#) { server, _ in
            var configuration = try NatsConfiguration(server.url)
            #expect(await error { try await open(configuration) }?.code == .refused)
            configuration.credentials = .password(user: "anna", password: "wrong")
            #expect(await error { try await open(configuration) }?.code == .refused)
            configuration.credentials = .password(user: "anna", password: "secret")
            #expect(await error { try await open(configuration) } == nil)
            let inURL = try NatsConfiguration("nats://anna:secret@127.0.0.1:\(server.port)")
            #expect(await error { try await open(inURL) } == nil)
            #expect(!inURL.description.contains("secret"))
        }
    }

    @Test("A gateway whose credentials NATS refuses while it runs leaves the journal, and says so")
    func refusedLater() async throws {
        func users(_ password: String) -> String {
            #"authorization { user: "anna", password: "\#(password)" }"#
        }
        try await withServer(users("secret")) { server, folder in
            var configuration = try NatsConfiguration(server.url)
            configuration.credentials = .password(user: "anna", password: "secret")
            let member = try await ClusterMember.join(
                try await open(configuration), at: folder.path("view"), implicitChannels: true,
                logger: Self.logger)
            let hasEnded = Atomic(false)
            let running = Task {
                defer { hasEnded.store(true, ordering: .relaxed) }
                try await member.replica.run()
            }
            server.kill()
            try server.restart(users("another"))
            // The library gives up at the second refusal of a server, and dials no more.
            try await eventually("the gateway ends, to be started again") {
                hasEnded.load(ordering: .relaxed)
            }
            running.cancel()
            _ = await running.result
            await member.close()
        }
    }

    @Test("Each missing right is told once, and no more of them than 32 are remembered")
    func missingRights() {
        var missing = MissingRights()
        let told = (0..<1_000).filter { missing.insert("no right to _INBOX.\($0 % 500)") }
        #expect(told == Array(0..<32) && missing.known.count == 32)
    }

    @Test("A right token of NATS is let in, a wrong one refused")
    func token() async throws {
        try await withServer(#"authorization { token: "secret" }"#) { server, _ in
            var configuration = try NatsConfiguration(server.url)
            configuration.credentials = .token("wrong")
            #expect(await error { try await open(configuration) }?.code == .refused)
            configuration.credentials = .token("secret")
            #expect(await error { try await open(configuration) } == nil)
        }
    }

    @Test("A key file that another library has made is accepted")
    func key() async throws {
        let made = try await Command.run(
            Command.python.path,
            [
                "-c",
                """
                import nkeys, os
                seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
                print(seed.decode(), nkeys.from_seed(bytearray(seed)).public_key.decode())
                """,
            ])
        let words = made.words.split(whereSeparator: \.isWhitespace)
        try #require(words.count == 2, "\(made.words)")
        try await withServer(#"authorization { users: [{ nkey: "\#(words[1])" }] }"#) {
            server, folder in
            let file = folder.url.path + "/seed"
            var configuration = try NatsConfiguration(server.url)
            #expect(await error { try await open(configuration) }?.code == .refused)
            configuration.credentials = .key(seedFile: file)
            #expect(await error { try await open(configuration) }?.code == .badConfiguration)
            try "\(words[0])\n".write(toFile: file, atomically: true, encoding: .utf8)
            #expect(await error { try await open(configuration) } == nil)
            // Another digit: the checksum says so. Of the last one, two bits do not count.
            let middle = words[0].index(words[0].startIndex, offsetBy: 20)
            let other = words[0][middle] == "A" ? "B" : "A"
            let wrong = words[0][..<middle] + other + words[0][words[0].index(after: middle)...]
            try String(wrong).write(toFile: file, atomically: true, encoding: .utf8)
            #expect(await error { try await open(configuration) }?.code == .badConfiguration)
        }
    }

    @Test("The credentials of an operator's account are accepted")
    func credentials() async throws {
        let keys = try TemporaryFolder()
        defer { keys.remove() }
        let script = Command.root.appending(path: "Tests/Support/cluster/credentials.py")
        let made = try await Command.run(Command.python.path, [script.path, keys.url.path])
        try #require(made.status == 0, "\(made.words)")
        try await withServer(made.words) { server, _ in
            var configuration = try NatsConfiguration(server.url)
            #expect(await error { try await open(configuration) }?.code == .refused)
            configuration.credentials = .file(keys.url.path + "/none")
            #expect(await error { try await open(configuration) }?.code == .badConfiguration)
            configuration.credentials = .file(keys.url.path + "/user.creds")
            #expect(await error { try await open(configuration) } == nil)
        }
    }

    @Test("TLS with a private certificate authority is accepted")
    func tls() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await Command.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1",
                "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", folder.url.path + "/key.pem", "-out", folder.url.path + "/chain.pem",
            ])
        let settings =
            #"tls { cert_file: "\#(folder.url.path)/chain.pem", key_file: "\#(folder.url.path)/key.pem" }"#
        try await withServer(settings) { server, _ in
            var configuration = try NatsConfiguration("tls://127.0.0.1:\(server.port)")
            let failure = await error { try await open(configuration) }
            #expect(failure?.code == .refused, "\(failure as Any)")
            configuration.authorities = folder.url.path + "/chain.pem"
            #expect(await error { try await open(configuration) } == nil)
        }
    }

    @Test(
        "A malformed address gets an error with an example",
        arguments: [
            "", "localhost", "http://a:1", "nats://", "nats://a/b", "nats://a,,b", "nats://a b",
        ])
    func addresses(text: String) {
        #expect {
            try NatsConfiguration(text)
        } throws: {
            ($0 as? RepriseError)?.code == .badConfiguration
        }
    }
}

/// A client of another make: a few lines of the protocol, to ask what the driver does not.
enum NatsPeer {
    /// Publishes with headers, each a line.
    static func publish(
        _ server: NatsServer, _ subject: String, _ body: String, _ headers: [String]
    ) async throws {
        let result = try await Command.run(
            Command.python.path,
            [
                "-c",
                """
                import socket, sys
                port, subject, body, *lines = sys.argv[1:]
                head = "\\r\\n".join(["NATS/1.0", *lines, "", ""])
                link = socket.create_connection(("127.0.0.1", int(port)), timeout=5)
                file = link.makefile("rb")
                file.readline()
                link.sendall(b'CONNECT {"verbose":false,"headers":true}\\r\\n'
                             + f"HPUB {subject} {len(head)} {len(head + body)}\\r\\n".encode()
                             + f"{head}{body}\\r\\nPING\\r\\n".encode())
                while file.readline().strip() != b"PONG":
                    pass
                """, "\(server.port)", subject, body,
            ] + headers)
        #expect(result.status == 0, "\(result.words)")
    }

    /// Answers the first question on a subject, with messages of these heads and bodies.
    static func answer(
        _ server: NatsServer, _ subject: String, _ answers: [(head: String, body: String)]
    ) async throws {
        let result = try await Command.run(
            Command.python.path,
            [
                "-c",
                """
                import socket, sys
                port, subject, *answers = sys.argv[1:]
                link = socket.create_connection(("127.0.0.1", int(port)), timeout=20)
                file = link.makefile("rb")
                file.readline()
                link.sendall(b'CONNECT {"verbose":false,"headers":true}\\r\\n'
                             + f"SUB {subject} 1\\r\\n".encode())
                while True:
                    words = file.readline().decode().split()
                    if words[:1] == ["PING"]:
                        link.sendall(b"PONG\\r\\n")
                    elif words[:1] in (["MSG"], ["HMSG"]):
                        break
                    elif not words:
                        sys.exit("closed")
                for head, body in zip(answers[::2], answers[1::2]):
                    head = head.replace("\\n", "\\r\\n") + "\\r\\n\\r\\n"
                    link.sendall(f"HPUB {words[3]} {len(head)} {len(head + body)}\\r\\n"
                                 f"{head}{body}\\r\\n".encode())
                link.sendall(b"PING\\r\\n")
                file.read(1)
                """, "\(server.port)", subject,
            ] + answers.flatMap { [$0.head, $0.body] })
        #expect(result.status == 0, "\(result.words)")
    }

    /// Asks, and returns the answer.
    static func request(
        _ server: NatsServer, _ subject: String, _ body: String
    ) async throws -> String {
        try await Command.run(
            Command.python.path,
            [
                "-c",
                """
                import socket, sys
                port, subject, body = int(sys.argv[1]), sys.argv[2], sys.argv[3].encode()
                link = socket.create_connection(("127.0.0.1", port), timeout=5)
                file = link.makefile("rb")
                file.readline()
                link.sendall(b'CONNECT {"verbose":false}\\r\\nSUB answer 1\\r\\n'
                             + f"PUB {subject} answer {len(body)}\\r\\n".encode() + body + b"\\r\\n")
                while True:
                    words = file.readline().split()
                    if words[:1] == [b"PING"]:
                        link.sendall(b"PONG\\r\\n")
                    elif words[:1] == [b"MSG"]:
                        sys.exit(print(file.read(int(words[-1])).decode()))
                    elif not words:
                        sys.exit("closed")
                """, "\(server.port)", subject, body,
            ]
        ).words
    }
}
