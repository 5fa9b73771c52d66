import NIOCore
import RepriseWire

/// Reads the log for catch-ups and encodes what it finds, away from the event loops.
struct LogReader: Sendable {
    /// What was read, for which subscription.
    struct Answer: Sendable {
        let channel: ChannelName
        let ticket: UInt32
        let content: SubscriptionMachine.Answer
        /// A page as frames: bytes that are sent as they are.
        var page = ByteBuffer()
        var error: (any Error)?
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
            answer(await perform(read, of: channel, ticket))
        }
    }

    private func perform(
        _ read: SubscriptionMachine.Read, of channel: ChannelName, _ ticket: UInt32
    ) async -> Answer {
        do {
            switch read {
            case .state:
                let state = try await log.state(of: channel)
                return Answer(channel: channel, ticket: ticket, content: .state(state))
            case .page(let missing):
                let page = try await log.page(
                    of: channel, missing: missing, limit: pageMessages, byteLimit: pageBytes)
                return Answer(
                    channel: channel, ticket: ticket,
                    content: .page(through: page.through, epoch: page.state.epoch),
                    page: Self.encode(page, of: channel))
            }
        } catch {
            return Answer(channel: channel, ticket: ticket, content: .failed, error: error)
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
