import NIOCore
import RepriseWire

/// Reads the log for catch-ups and encodes what it finds, away from the event loops.
struct LogReader: Sendable {
    /// What was read, for which subscription.
    struct Answer: Sendable {
        enum Content: Sendable {
            case state(ChannelState)
            /// A page as frames: bytes that are sent as they are.
            case page(ByteBuffer, through: Int64, epoch: Epoch)
            case failed(any Error)
        }

        let channel: ChannelName
        let ticket: UInt32
        let content: Content
    }

    let log: any MessageLog
    let pageMessages: Int
    let pageBytes: Int

    /// Reads once; one task for each connection at a time is what bounds them.
    func start(
        _ read: SubscriptionMachine.Read, of channel: ChannelName, ticket: UInt32,
        then answer: @escaping @Sendable (Answer) -> Void
    ) {
        Task {
            let content: Answer.Content
            do {
                content = try await perform(read, of: channel)
            } catch {
                content = .failed(error)
            }
            answer(Answer(channel: channel, ticket: ticket, content: content))
        }
    }

    private func perform(
        _ read: SubscriptionMachine.Read, of channel: ChannelName
    ) async throws -> Answer.Content {
        switch read {
        case .state: return .state(try await log.state(of: channel))
        case .page(let missing):
            let page = try await log.page(
                of: channel, missing: missing, limit: pageMessages, byteLimit: pageBytes)
            return .page(
                Self.encode(page, of: channel), through: page.through, epoch: page.state.epoch)
        }
    }

    private static func encode(_ page: LogPage, of channel: ChannelName) -> ByteBuffer {
        let encoder = EventEncoder(channel: channel)
        let capacity = page.events.reduce(page.gone.count * 200) {
            $0 + encoder.capacity(for: $1)
        }
        var buffer = ByteBufferAllocator().buffer(capacity: capacity)
        for gone in page.gone { WebSocketFraming.write(.gone(channel: channel, gone), to: &buffer) }
        for event in page.events { encoder.write(event, to: &buffer) }
        return buffer
    }
}
