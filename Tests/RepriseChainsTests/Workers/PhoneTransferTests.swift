import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("A chain whose download the phone makes", .timeLimit(.minutes(2)))
struct PhoneTransferTests {
    @Test(
        "is killed meanwhile, launched when the file is there, and goes on; the phone was cut off in the middle"
    )
    func outlivesTheApp() async throws {
        let bytes = content(300_000)
        let holds = Mutex(true)
        try await OddServer.run { request, answer in
            guard holds.withLock({ $0 }) else {
                return try await answer.serve(bytes, request)
            }
            try await answer.serve(bytes, request, cutAfter: 100_000)
            try await Task.sleep(for: .seconds(600))
        } test: { url, host, server in
            let folder = try TemporaryFolder()
            let phone = try await Phone.start(
                in: folder.url.appendingPathComponent("p"),
                supervisor: Phone.Supervisor(program: .sibling("PhoneProbe"), arguments: ["phone"]))
            do {
                try await phone.install(
                    PhoneAppSpec(
                        id: "films", executable: URL.sibling("DownloadRunner").path,
                        arguments: [url + "/film", host, sha256(bytes)],
                        backgroundTasks: ["reprise.chains"]))
                try await phone.launch()
                try await eventually("a third of it has come", within: .seconds(20)) {
                    try await phone.app().transfers.first?.bytes ?? 0 >= 100_000
                }
                try await phone.kill()
                holds.withLock { $0 = false }
                // The phone's connection breaks, and it goes on with the rest.
                try await phone.offline()
                try await phone.online()
                try await phone.expects(.phone(.connected, "transfers"))
                try await phone.expects(.report("chain", "succeeded"))
                let film = phone.folder.data(of: "films").appendingPathComponent("film")
                #expect(try Array(Data(contentsOf: film)) == bytes)
                #expect(server.requests.map { $0.headers["range"] } == [nil, "bytes=100000-"])
                #expect(try await phone.app().transfers.isEmpty, "it is forgotten")
            } catch {
                await phone.end()
                throw error
            }
            await phone.end()
        }
    }
}
