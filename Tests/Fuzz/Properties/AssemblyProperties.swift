import NIOCore
import NIOEmbedded
import NIOWebSocket
import RepriseWire

@testable import RepriseNIO
@testable import RepriseServer

/// What a peer's bytes are to a WebSocket, by the pipeline that ships and by a model that knows RFC
/// 6455 and no NIO.
///
/// The first byte says where the pieces end.
enum AssemblyProperties {
    /// Small, so that the fuzzer meets it; the server's own is
    /// ``RepriseWire/WireLimits/frameBytes``.
    private static let clientLimit = 300

    static func client(_ bytes: [UInt8]) throws {
        var assembler = RepriseNIO.MessageAssembler(maximumBytes: clientLimit)
        try check(
            bytes, frameLimit: clientLimit, messageLimit: clientLimit, masked: false, before: []
        ) {
            switch assembler.frameReceived($0) {
            case .message(let text): .message(text)
            case .none: nil
            case .ping(let payload): .ping(Array(payload.readableBytesView))
            case .close(let code): .close(code)
            case .violation(let code, _): .violation(code)
            }
        }
    }

    static func server(_ bytes: [UInt8]) throws {
        var assembler = RepriseServer.ServerMessageAssembler()
        var text: [UInt8] = []
        try check(
            bytes, frameLimit: clientLimit, messageLimit: WireLimits.frameBytes, masked: true,
            before: [FrameHeaderGuard { WireLimits.frameBytes }]
        ) {
            switch assembler.add($0, text: &text) {
            case .message: .message(text)
            case .incomplete, .pong: nil
            case .ping(let payload): .ping(Array(payload.readableBytesView))
            case .close(let code): .close(code?.number)
            case .violation(let code, _): .violation(code.number)
            }
        }
    }

    private static func check(
        _ bytes: [UInt8], frameLimit: Int, messageLimit: Int, masked: Bool,
        before handlers: [any ChannelHandler],
        _ assemble: @escaping (WebSocketFrame) -> FrameModel.Outcome?
    ) throws {
        guard let seed = bytes.first else { return }
        let collector = Collector(assemble)
        let decoder = ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: frameLimit))
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(handlers + [decoder, collector])
        for piece in pieces(of: bytes[1...], seed: seed) where !collector.isAtEnd {
            do {
                try channel.writeInbound(ByteBuffer(bytes: piece))
            } catch {
                collector.failed(error)
            }
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        var model = FrameModel(
            frameLimit: frameLimit, messageLimit: messageLimit, areMasked: masked)
        let expected = model.read(bytes[1...])
        try hold(
            collector.outcomes == expected, "\(collector.outcomes), but the RFC says \(expected)")
    }
}

/// Stands where the socket's handler stands.
private final class Collector: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let assemble: (WebSocketFrame) -> FrameModel.Outcome?
    private(set) var outcomes: [FrameModel.Outcome] = []
    private(set) var isAtEnd = false

    init(_ assemble: @escaping (WebSocketFrame) -> FrameModel.Outcome?) {
        self.assemble = assemble
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isAtEnd, let outcome = assemble(unwrapInboundIn(data)) else { return }
        outcomes.append(outcome)
        switch outcome {
        case .close, .violation: isAtEnd = true
        case .message, .ping: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { failed(error) }

    /// As both socket handlers do with the decoder's errors.
    func failed(_ error: any Error) {
        guard !isAtEnd else { return }
        isAtEnd = true
        switch error {
        case NIOWebSocketError.invalidFrameLength, FrameHeaderGuard.Violation.tooLong:
            outcomes.append(.violation(1009))
        default:
            let isFraming = error is NIOWebSocketError || error is FrameHeaderGuard.Violation
            outcomes.append(.violation(isFraming ? 1002 : 0))
        }
    }
}
