import NIOCore
import NIOPosix

/// What a connection costs that has said hello, has subscribed to one channel, and then is silent.
struct Idle {
    let server: ServerProcess
    var connections = 5_000

    /// - Returns: bytes of the server's resident memory for each connection.
    func run() async throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { Task { try? await group.shutdownGracefully() } }
        let loop = group.next()
        // What the first ones allocate once and for all is not theirs.
        try await open(200, prefix: "warm", on: loop)
        try await Task.sleep(for: .seconds(1))
        let before = server.residentBytes
        try await open(connections, prefix: "idle", on: loop)
        try await Task.sleep(for: .seconds(2))
        return Double(server.residentBytes - before) / Double(connections)
    }

    private func open(_ count: Int, prefix: String, on loop: any EventLoop) async throws {
        for index in 0..<count {
            let connection = try await RawConnection.open(
                to: server.address, device: "\(prefix)-\(index)", on: loop)
            try await loop.submit {
                connection.value.send(
                    #"{"type":"subscribe","channels":[{"channelId":"idle-\#(index % 100)"}]}"#)
            }.get()
        }
    }
}
