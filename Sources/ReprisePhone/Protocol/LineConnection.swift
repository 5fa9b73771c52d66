import Foundation
package import NIOCore
import NIOPosix
import RepriseCore
import Synchronization

/// A connection that carries lines of JSON over a Unix socket.
///
/// Received lines wait in the socket until they are read. The send buffer is bounded: a peer that
/// does not read is disconnected.
package final class LineConnection: Sendable {
    /// The longest line.
    package static let lineLimit = 1_048_576
    /// The most bytes that wait for a peer.
    package static let waitingLimit = 8_388_608

    private let channel: NIOAsyncChannel<PhoneLine, Never>
    private let waiting = Atomic(0)

    init(_ channel: NIOAsyncChannel<PhoneLine, Never>) { self.channel = channel }

    /// Connects to a phone.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unreachable`.
    package static func connect(to path: String) async throws -> LineConnection {
        do {
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(unixDomainSocketPath: path) { channel in
                    channel.eventLoop.makeCompletedFuture { try wrap(channel) }
                }
            return LineConnection(channel)
        } catch {
            throw RepriseError(
                .unreachable, "No phone runs here.",
                remedy: "Start one with `reprise-lab phone run --folder FOLDER`.", cause: error)
        }
    }

    static func wrap(_ channel: any Channel) throws -> NIOAsyncChannel<PhoneLine, Never> {
        try channel.pipeline.syncOperations.addHandler(
            ByteToMessageHandler(LineDecoder(limit: lineLimit)))
        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
    }

    /// Calls `body` with each line until either side closes, or `body` returns false; called once.
    ///
    /// A line that is too long is nil.
    package func readLines(_ body: (ByteBuffer?) async -> Bool) async {
        // A socket that breaks is an end like another.
        try? await channel.executeThenClose { inbound, _ in
            for try await line in inbound {
                guard await body(line.bytes) else { break }
            }
        }
    }

    /// Sends a value as one line, in order; does not wait for the peer.
    ///
    /// - Returns: false if the line is too long, or the peer was disconnected because it does not
    ///   read.
    @discardableResult
    package func send(_ value: some Encodable) -> Bool {
        guard let bytes = try? PhoneJSON.encode(value), bytes.count <= Self.lineLimit else {
            return false
        }
        return sendRaw(bytes)
    }

    /// Sends bytes and the end of a line, whatever they are.
    @discardableResult
    package func sendRaw(_ line: [UInt8]) -> Bool {
        let count = line.count + 1
        let (_, sum) = waiting.add(count, ordering: .relaxed)
        guard sum <= Self.waitingLimit else {
            close()
            return false
        }
        channel.channel.writeAndFlush(ByteBuffer(bytes: line + [10])).whenComplete { [self] _ in
            waiting.subtract(count, ordering: .relaxed)
        }
        return true
    }

    /// Waits until all sent lines have left this process, or cannot.
    package func flush() async {
        try? await channel.channel.writeAndFlush(ByteBuffer()).get()
    }

    /// Closes the connection.
    ///
    /// A second call does nothing.
    package func close() { channel.channel.close(promise: nil) }
}

/// The JSON format of a phone's socket and disk.
package enum PhoneJSON {
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    package static func decode<T: Decodable>(_ type: T.Type, from line: ByteBuffer?) throws -> T {
        guard let line else { throw RepriseError(.tooLarge, "The line is too long.") }
        return try JSONDecoder().decode(type, from: Data(line.readableBytesView))
    }
}
