import Foundation
import NIOCore
import NIOPosix

/// A server of files on a free loopback port: slow enough that a kill falls into a download, and it
/// counts what it sends.
final class ChainsServer: Sendable {
    private typealias Peer = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private struct Tally {
        /// The position of the newest request, from the file's first byte.
        var position = 0
        /// All that was sent.
        var sent = 0
        /// So much of the film is sent, and no more.
        var filmBound = Int.max
        /// The same of the file that the phone fetches: at first a beginning.
        var transferBound = ChainsServer.piece
    }

    private static let tag = "\"v1\""
    /// In every piece, of which one is sent each ten milliseconds.
    private static let piece = 160_000

    /// What a download has to bring: bytes that do not repeat, so that a piece in the wrong place
    /// is seen.
    let film: [UInt8]
    let url: String
    private let tally = Shared(Tally())

    /// Serves until the play in the folder is over; the bytes of the film are a multiple of 8.
    init(bytes: Int, in folder: DemoFolder) async throws {
        film = (0..<UInt64(bytes / 8)).map { ($0 &* 0x9E37_79B9_7F4A_7C15).littleEndian }
            .withUnsafeBytes { Array($0) }
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Peer(wrappingChannelSynchronously: channel)
                }
            }
        url = "http://127.0.0.1:\(server.channel.localAddress?.port ?? 0)"
        let serving = Task { [self] in
            try await server.executeThenClose { connections in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await peer in connections {
                        // A connection that breaks because the app was killed is what the demo is
                        // about.
                        group.addTask { try? await self.serve(peer) }
                    }
                }
            }
        }
        folder.atEnd { serving.cancel() }
    }

    /// The position of the newest download.
    var position: Int { tally.value.position }
    /// All that was sent since the last ``reset()``.
    var sent: Int { tally.value.sent }

    func reset() { tally.update { $0 = Tally() } }

    /// Answers stand still there until more is allowed, or the play is over.
    func sends(upTo bytes: Int) { tally.update { $0.filmBound = bytes } }

    /// All of the file that the phone fetches.
    func sendsTransfer() { tally.update { $0.transferBound = .max } }

    private func serve(_ peer: Peer) async throws {
        try await peer.executeThenClose { inbound, outbound in
            var bytes: [UInt8] = []
            for try await part in inbound {
                bytes += Array(buffer: part)
                guard let request = Self.request(bytes) else { continue }
                try await answer(request, outbound)
                return try await peer.channel.writeAndFlush(ByteBuffer()).get()
            }
        }
    }

    private func answer(
        _ request: (target: String, from: Int),
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        let isFilm = request.target == "/film"
        let count = isFilm ? film.count : ChainsPlan.transferBytes
        let from = min(request.from, count)
        let range = from > 0 ? "\r\nContent-Range: bytes \(from)-\(count - 1)/\(count)" : ""
        try await outbound.write(
            ByteBuffer(
                string: """
                    HTTP/1.1 \(from > 0 ? 206 : 200) X\r\nConnection: close\r\nETag: \(Self.tag)\r
                    Content-Length: \(count - from)\(range)\r\n\r\n
                    """))
        var begin = from
        while begin < count {
            let now = tally.value
            let end = min(begin + Self.piece, count, isFilm ? now.filmBound : now.transferBound)
            if end > begin {
                try await outbound.write(ByteBuffer(bytes: film[begin..<end]))
                if isFilm {
                    tally.update {
                        $0.position = end
                        $0.sent += end - begin
                    }
                }
                begin = end
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// - Returns: nil until all of it is there.
    private static func request(_ bytes: [UInt8]) -> (target: String, from: Int)? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasSuffix("\r\n\r\n") else { return nil }
        let words = text.split(separator: " ", maxSplits: 2)
        // A range of the version that there is.
        let isOfVersion = text.contains(/(?i)if-range: *"v1"/)
        let from = isOfVersion ? text.firstMatch(of: /(?i)range: *bytes=(\d+)-/)?.output.1 : nil
        return (words.count == 3 ? String(words[1]) : "/", from.flatMap { Int($0) } ?? 0)
    }
}
