import NIOCore
import RepriseCore
import RepriseWire

/// Receipts, positions and typing.
extension ConnectionHandler {
    // MARK: Receipts

    func take(_ receipt: ClientFrame.Receipt) {
        guard gateway.asksWho else { return refuseWithoutUsers("receipt") }
        if let receipt = receipts.arrived(receipt) { move(receipt) }
    }

    /// Makes a receipt durable; it counts as a pending request.
    private func move(_ receipt: ClientFrame.Receipt) {
        guard let user = principal.user else { return }
        machine.publishesAccepted(1)
        gateway.move(receipt, of: user, on: machine.device, by: id, through: loopHub.shard)
    }

    /// A receipt is durable: the echo confirms it.
    func moved(_ telling: PositionUpdates.Telling) {
        if machine.maySend {
            let position =
                subscriptions[telling.channel]?.seen(telling.position) ?? telling.position
            send(.receipt(channel: telling.channel, position))
        }
        if let next = receipts.moved(in: telling.channel), machine.takesRequests { move(next) }
        answered(1)
    }

    func moveFailed(_ receipt: ClientFrame.Receipt) {
        answered(1)
        later { $0.move(receipt) }
    }

    // MARK: Positions

    /// Sends a user's moved positions, or remembers to send the newest later.
    func tell(_ frame: ByteBuffer, to subscription: HubSubscription) {
        guard isWritable, !subscription.machine.isOpening else {
            subscription.owesPositions = true
            return
        }
        send(frame)
    }

    /// Reads positions that were not sent, once the subscription is live again.
    func settle(_ subscription: HubSubscription) {
        guard subscription.owesPositions, subscription.machine.isLive, isWritable else { return }
        subscription.machine.logBecameUncertain()
    }

    // MARK: Typing

    func typed(_ isTyping: Bool, in channel: ChannelName) {
        guard gateway.asksWho else { return refuseWithoutUsers("typing") }
        guard let user = principal.user, let subscription = subscriptions[channel],
            !subscription.machine.isHeld
        else { return }
        loopHub.typed(isTyping, by: user, at: id, in: channel)
    }

    /// Without a channel, because that would end a subscription.
    private func refuseWithoutUsers(_ what: String) {
        gateway.metrics.refused(what, .forbidden)
        send(
            .refused(
                .init(
                    channel: nil, id: nil, code: .forbidden,
                    message:
                        "This server asks nobody who he is: it knows no positions and no typing."
                )))
    }
}
