import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RepriseCore
import RepriseServer
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Testing

@Suite("A backup over HTTP", .timeLimit(.minutes(1)))
struct BackupRouteTests {
    @Test("is made by the running server, and can be restored")
    func isMade() async throws {
        let folder = try TemporaryFolder()
        func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }
        var configuration = ServerConfiguration(port: 0, data: path("data"))
        configuration.backups = path("backups")
        let (ready, isReady) = AsyncStream<String>.makeStream()
        let server = Server(configuration: configuration, logger: RunningServer.logger) {
            isReady.yield($0.url)
        }
        let group = ServiceGroup(services: [server], logger: RunningServer.logger)
        async let running: Void = {
            defer { isReady.finish() }
            try await group.run()
        }()
        var urls = ready.makeAsyncIterator()
        let url = try #require(await urls.next())
        let outcome = await Result {
            let stored = try await ask(url + "/v1/channels/room/messages", #"{"body":7}"#)
            #expect(stored.status == 200)
            return try await ask(url + "/v1/backup", "")
        }
        await group.triggerGracefulShutdown()
        try await running
        let made = try outcome.get()
        #expect(made.status == 200, "\(made.text)")
        let json = try JSONSerialization.jsonObject(with: Data(made.text.utf8)) as? [String: Any]
        let name = try #require(json?["name"] as? String)
        let report = try Backup.restore(
            from: path("backups") + "/" + name, to: path("restored"))
        #expect(report.messages == 1)
    }

    private func ask(_ url: String, _ body: String) async throws -> (status: UInt, text: String) {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        if !body.isEmpty { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        let bytes = try await response.body.collect(upTo: 65_536)
        return (response.status.code, String(buffer: bytes))
    }
}
