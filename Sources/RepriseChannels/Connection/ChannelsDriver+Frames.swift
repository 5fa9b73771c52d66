import RepriseCore
import RepriseWire

/// From frames to what is written.
extension ChannelsDriver {
    /// Reads until the connection ends.
    func receive(from socket: any Socket) async {
        var decoder = FrameDecoder()
        do {
            while let frames = try await socket.receive() {
                connection.framesReceived(at: now)
                for start in stride(from: 0, to: frames.count, by: configuration.framesPerCommit) {
                    let end = min(start + configuration.framesPerCommit, frames.count)
                    var welcome: ServerFrame.Welcome?
                    let batch = read(frames[start..<end], &decoder, &welcome)
                    if let welcome { await greet(welcome) }
                    await flush()
                    await submit(batch)
                }
                if fatal != nil { return }
            }
        } catch {
            if ending == Disconnection() { ending = Disconnection(error: Self.described(error)) }
        }
    }

    private func greet(_ welcome: ServerFrame.Welcome) async {
        let actions = connection.welcomeReceived(welcome, at: now)
        await perform(actions)
        if actions.contains(.begin) { await begin(welcome) }
    }

    /// Decodes and judges.
    ///
    /// Whatever a frame says, nothing here traps and nothing waits.
    private func read(
        _ frames: ArraySlice<[UInt8]>, _ decoder: inout FrameDecoder,
        _ welcome: inout ServerFrame.Welcome?
    ) -> StagedBatch {
        var batch = StagedBatch(generation: generation)
        var touched: [Subscription] = []
        var current: Subscription?
        let now = now
        for bytes in frames {
            guard let frame = try? decoder.serverFrame(bytes) else {
                strays += 1  // what it would have covered stays a hole, and is asked for again
                continue
            }
            if case .event(let event) = frame {
                if current?.channel != event.channel { current = subscriptions[event.channel] }
                guard let current else {
                    strays += 1
                    continue
                }
                touch(current, &touched)
                receive(event, current)
            } else {
                receive(frame, at: now, &batch, &touched, &welcome)
            }
        }
        finish(&batch, touched, at: now)
        return batch
    }

    private func touch(_ subscription: Subscription, _ touched: inout [Subscription]) {
        guard !subscription.isTouched else { return }
        subscription.isTouched = true
        touched.append(subscription)
    }

    private func receive(_ event: ServerFrame.Event, _ subscription: Subscription) {
        switch subscription.machine.eventReceived(after: event.prev, seq: event.seq) {
        case .store: subscription.stage { $0.events.append(event) }
        case .ignoreDuplicate: subscription.stage { $0.duplicates += 1 }
        case .leave: break
        }
    }

    private func receive(
        _ frame: ServerFrame, at now: Duration, _ batch: inout StagedBatch,
        _ touched: inout [Subscription], _ welcome: inout ServerFrame.Welcome?
    ) {
        let jitter = configuration.jitter()
        switch frame {
        case .event: break  // the hot path, above
        case .welcome(let frame): welcome = frame
        case .published(let published): outbox.published(published)
        case .error(let code, let message):
            connection.errorReceived(code)
            ending = Disconnection(
                closeCode: code, error: RepriseError(.unavailable, "The server says: \(message)"))
        case .heartbeat(_, let heads):
            for (channel, head) in heads {
                guard let subscription = subscriptions[channel] else { continue }
                perform(
                    subscription.machine.heartbeatReceived(head: head, at: now), of: subscription)
            }
        case .refused(let refused):
            if refused.id != nil { return outbox.refused(refused) }
            with(refused.channel, &touched) { $0.refusedReceived(refused, at: now, jitter: jitter) }
        case .subscribed(let subscribed):
            // What came before belongs to the positions before.
            subscriptions[subscribed.channel]?.cut(into: &batch)
            with(subscribed.channel.text, &touched) {
                $0.subscribedReceived(subscribed, at: now)
            }
        case .gone(let channel, let gone):
            with(channel.text, &touched) { $0.goneReceived(gone) }
        case .syncComplete(let complete):
            with(complete.channel.text, &touched) {
                $0.syncCompleteReceived(complete, at: now, jitter: jitter)
            }
        }
    }

    /// Gives a frame to the machine of its channel, and stages the coverage if that has changed.
    private func with(
        _ channel: String?, _ touched: inout [Subscription],
        _ input: (inout SubscriptionMachine) -> [SubscriptionMachine.Action]
    ) {
        guard let channel, let name = try? ChannelName(channel),
            let subscription = subscriptions[name]
        else {
            strays += 1
            return
        }
        touch(subscription, &touched)
        let revision = subscription.machine.revision
        perform(input(&subscription.machine), of: subscription)
        if subscription.machine.revision != revision { subscription.stage { _ in } }
    }

    private func finish(
        _ batch: inout StagedBatch, _ touched: [Subscription], at now: Duration
    ) {
        for subscription in touched {
            subscription.isTouched = false
            perform(
                subscription.machine.batchRead(at: now, jitter: configuration.jitter()),
                of: subscription)
            subscription.cut(into: &batch)
            batch.revisions[subscription.channel] = subscription.machine.revision
        }
    }
}
