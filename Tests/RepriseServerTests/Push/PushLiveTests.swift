import Crypto
import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Testing

@Suite("A server that pushes", .timeLimit(.minutes(2)))
struct PushLiveTests {
    @Test(
        "a published message reaches the stand-ins of Apple and of a browser, in real time, with keys that were read again"
    )
    func both() async throws {
        let authority = try TestAuthority()
        let files = try authority.certify()
        let certificate = FakePushServer.Certificate(
            certificate: files.certificate, key: files.key)
        let (apns, web) = (FakeAPNs(topic: "org.example.chat"), FakePushService())
        let apple = try await FakePushServer.start(certificate) { apns.answer($0) }
        let service = try await FakePushServer.start(certificate) { web.answer($0) }
        web.listens(at: service.url)
        let folder = try TemporaryFolder()
        var configuration = ServerConfiguration(port: 0, data: folder.path)
        configuration.push = try settings(apns, apple, service, authority)
        let (ready, isReady) = AsyncStream<Gateway>.makeStream()
        let server = Server(
            configuration: configuration, logger: RunningServer.logger,
            onReady: { isReady.yield($1) },
            openLog: { try SQLiteMessageLog.open(at: folder.path) })
        let accounts = try Accounts.open(at: folder.path, implicitChannels: false)
        try await people(accounts, apns, web)
        await accounts.close()
        let group = ServiceGroup(services: [server], logger: RunningServer.logger)
        async let running: Void = group.run()
        var gateways = ready.makeAsyncIterator()
        let gateway = try #require(await gateways.next())
        // Apple forgets the key that was read at the start: what is pushed is signed with one that
        // was read again.
        try Data(apns.makeKey("KEY0000001", team: "TEAM000001").utf8)
            .write(to: authority.folder.url.appendingPathComponent("AuthKey.p8"))
        await server.reload()
        // What was stored before pushing began is not pushed: so it is to have begun.
        let queue = try DatabaseQueue(path: folder.path + "/accounts.sqlite")
        try await eventually("both services push") {
            let sql = "SELECT count(*) FROM push_services"
            return try await queue.read { try Int.fetchOne($0, sql: sql) } == 2
        }
        try queue.close()
        _ = try await gateway.committer.commit([
            NewMessage(
                channel: channel("room"), id: try EntryID("m1"), from: try UserID("ada"),
                body: Array(#"{"text":"Hello"}"#.utf8))
        ])
        try await eventually("both are pushed") { apns.takenCount == 1 && web.takenCount == 1 }
        #expect(String(decoding: apns.taken[0].payload, as: UTF8.self).contains("Hello"))
        #expect(
            web.taken[0].text.map { String(decoding: $0, as: UTF8.self) }?.contains("Hello") == true
        )
        try await eventually("it is counted") {
            gateway.metrics.text().contains(#"outcome="sent",service="apns"} 1"#)
        }
        await group.triggerGracefulShutdown()
        try await running
        await apple.stop()
        await service.stop()
        folder.remove()
    }

    private func settings(
        _ apns: FakeAPNs, _ apple: FakePushServer, _ service: FakePushServer,
        _ authority: TestAuthority
    ) throws -> PushConfiguration {
        let folder = authority.folder.url
        let key = folder.appendingPathComponent("AuthKey.p8").path
        try Data(apns.makeKey("KEY0000001", team: "TEAM000001").utf8)
            .write(to: URL(filePath: key))
        let vapid = folder.appendingPathComponent("vapid.pem").path
        try Data(P256.Signing.PrivateKey().pemRepresentation.utf8).write(to: URL(filePath: vapid))
        var push = PushConfiguration()
        push.apns = APNsSettings(
            keyFile: key, keyID: "KEY0000001", teamID: "TEAM000001", topic: "org.example.chat",
            environment: .custom(apple.url))
        push.apns?.authorities = authority.path
        push.webPush = WebPushSettings(keyFile: vapid, subject: "mailto:push@example.org")
        push.webPush?.authorities = authority.path
        push.webPush?.allowsPrivate = true
        return push
    }

    private func people(
        _ accounts: Accounts, _ apns: FakeAPNs, _ web: FakePushService
    ) async throws {
        let bob = try UserID("bob")
        try await accounts.setChannel(
            channel("room"), ChannelSettings(), by: Principal(user: nil, isAdmin: true), at: now,
            head: 0)
        try await accounts.setMember(
            bob, role: .member, joined: 0, in: channel("room"), at: now)
        apns.install("aabb")
        try await accounts.setDevice(
            RegisteredDevice(
                id: try EntryID("phone"), platform: "ios", pushToken: try PushToken("aabb"),
                lastSeen: now), of: bob)
        let browser = web.subscribe("b1")
        try await accounts.setDevice(
            RegisteredDevice(
                id: try EntryID("web"), platform: "web",
                subscription: try WebPushSubscription(
                    endpoint: browser.endpoint, key: browser.p256dh, secret: browser.auth),
                lastSeen: now), of: bob)
    }

    @Test("a server with a key that cannot be used does not start, and says why")
    func badKey() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var configuration = ServerConfiguration(port: 0, data: folder.path)
        configuration.push.apns = APNsSettings(
            keyFile: folder.path + "/none.p8", keyID: "KEY0000001", teamID: "TEAM000001",
            topic: "org.example.chat")
        let server = Server(configuration: configuration, logger: RunningServer.logger)
        do {
            try await server.run()
            Issue.record("it started")
        } catch let error as RepriseError {
            #expect(error.code == .badConfiguration && error.message.contains("none.p8"))
        }
    }
}
