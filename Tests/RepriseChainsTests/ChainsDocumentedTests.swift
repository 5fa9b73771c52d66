import Foundation
import Reprise
import RepriseTesting
import Testing

/// The first example of docs/chains.md, as it stands there.
@Suite("Chains, documented", .timeLimit(.minutes(1)))
struct ChainsDocumentedTests {
    @Test("The example of docs/chains.md compiles and does what it says")
    func example() async throws {
        let temporary = try TemporaryFolder()
        let folder = temporary.appending("journal")
        let (inbox, kept) = (temporary.appending("inbox"), temporary.appending("kept"))
        var configuration = RepriseConfiguration(server: "http://127.0.0.1:1")
        configuration.folder = folder
        configuration.dialer = MemoryDialer()
        for place in [inbox, kept] {
            try FileManager.default.createDirectory(
                at: place, withIntermediateDirectories: true)
        }
        for name in ["1.jpg", "2.jpg"] {
            try Data(name.utf8).write(to: inbox.appendingPathComponent(name))
        }
        struct Label: Worker {
            static let identifier = "label"

            func run(_ bytes: Int64, _ work: WorkContext) async throws -> String {
                "\(bytes) bytes"
            }
        }

        let keepPhotos = Chain<[String]>("keep-photos") { names in
            Parallel {
                for name in names {
                    Work("copy-\(name)", CopyFileWorker.self) { _ in
                        .init(SandboxPath("inbox", name), to: SandboxPath("kept", name))
                    }
                    .retry(attempts: 5)
                    .compensation(with: DeleteFileWorker.self) { _ in
                        .init(SandboxPath("kept", name))
                    }
                }
            }
            WaitFor(for: Readiness("unlocked"))
            let hash = Work("hash", HashFileWorker.self) { _ in
                .init(SandboxPath("kept", names[0]))
            }
            hash
            Work("label", Label.self) { done in try done[hash].bytes }.deadline(.seconds(60))
        }

        let standard = StandardWorkers(sandbox: Sandbox(["inbox": inbox, "kept": kept]))
        configuration.chains = .init(workers: standard.all + [Label()], chains: [keepPhotos])
        let client = RepriseClient(configuration)
        let running = Task { try await client.run() }  // goes on with all there are

        // Durable when it returns.
        let id = try await client.chains.start(keepPhotos, input: ["1.jpg", "2.jpg"])
        for await progress in try await client.chains.progress(of: id) {
            print("\(progress.done) of \(progress.total)")
            if progress.done == 2 { await client.setReady(Readiness("unlocked")) }
        }
        let label = try await client.chains.output(of: "label", by: Label.self, in: id)
        #expect(label == "5 bytes")
        #expect(try await client.chains.status(id)?.state == .succeeded)
        #expect(
            try Data(contentsOf: kept.appendingPathComponent("2.jpg")) == Data("2.jpg".utf8))
        running.cancel()
        _ = await running.result
        await client.close()
    }
}
