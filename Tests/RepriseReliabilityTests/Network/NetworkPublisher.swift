import RepriseCore
import RepriseNIO
import RepriseWire

/// Publishes past the faults, over a connection of its own, and notes what the server has
/// acknowledged: the record that devices are compared with.
struct NetworkPublisher: Sendable {
    private let socket: any Socket

    static func connect(to port: Int) async throws -> NetworkPublisher {
        let socket = try await NIODialer().dial(
            url: "http://127.0.0.1:\(port)" + WireHandshake.path,
            protocol: WireHandshake.subprotocol, maximumFrameBytes: WireLimits.frameBytes)
        let hello = ClientFrame.Hello(device: .random(), client: "publisher")
        try await socket.send([ClientFrame.hello(hello).encoded()])
        return NetworkPublisher(socket: socket)
    }

    /// Publishes messages together and waits for all answers.
    ///
    /// - Returns: what was acknowledged.
    /// - Throws: if the server ends the connection or refuses one.
    func publish(_ messages: [ClientFrame.Publish]) async throws -> [Stored] {
        try await socket.send(messages.map { ClientFrame.publish($0).encoded() })
        var answers: [Stored] = []
        var decoder = FrameDecoder()
        while answers.count < messages.count {
            guard let frames = try await socket.receive() else {
                throw RepriseError(.unavailable, "The publisher's connection has ended.")
            }
            for frame in frames {
                switch try decoder.serverFrame(frame) {
                case .published(let answer): answers.append(Stored(seq: answer.seq, id: answer.id))
                case .refused(let refused):
                    throw RepriseError(.refused, "\(refused.code): \(refused.message)")
                default: break
                }
            }
        }
        return answers
    }

    func close() async { await socket.close(code: CloseCode.normal.number) }
}
