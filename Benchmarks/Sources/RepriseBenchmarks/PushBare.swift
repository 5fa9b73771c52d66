import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

extension Main {
    /// Sends as many requests as a server would push, in a process of its own.
    struct PushBare: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "push-bare", shouldDisplay: false)

        @Option var data: String
        @Option var url: String
        @Option var ca: String
        @Option var count: Int
        @Option var bytes: Int
        @Option var concurrency: Int

        func run() async throws {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(ca))
            var configuration = HTTPClient.Configuration()
            configuration.tlsConfiguration = tls
            // One loop for connections and tasks: on one core threads only cost.
            let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
            let client = HTTPClient(
                eventLoopGroupProvider: .shared(loop), configuration: configuration)
            FileHandle.standardOutput.write(Data("ready 0\n".utf8))
            // Until it has been put on its core.
            try await Task.sleep(for: .milliseconds(500))
            let request = request
            let (share, concurrency) = (count / concurrency, concurrency)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<concurrency {
                    group.addTask(executorPreference: LoopExecutor(loop: loop)) {
                        for number in 0..<share {
                            var request = request
                            request.url += Self.name(of: task * share + number)
                            let answer = try await client.execute(request, timeout: .seconds(30))
                            for try await _ in answer.body {}
                        }
                    }
                }
                try await group.waitForAll()
            }
            // Whoever started it reads its processor time, then ends it.
            try await Task.sleep(for: .seconds(60))
        }

        /// Each device has a path of its own, which no header table keeps.
        private static func name(of number: Int) -> String {
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 64 - text.count) + text
        }

        private var request: HTTPClientRequest {
            var request = HTTPClientRequest(url: url)
            request.method = .POST
            request.headers = [
                "authorization": "bearer " + String(repeating: "x", count: 200),
                "apns-topic": "org.example.chat", "apns-push-type": "alert",
                "apns-priority": "10", "apns-expiration": "1800000000",
                "apns-collapse-id": "0123456789abcdef0123456789abcdef",
                "content-type": "application/json",
            ]
            request.body = .bytes(ByteBuffer(repeating: 0x78, count: bytes))
            return request
        }
    }
}

/// Runs tasks on an event loop.
private final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
