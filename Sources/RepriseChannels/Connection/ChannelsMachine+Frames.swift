import RepriseCore
import RepriseWire

/// From frames to writes.
extension ChannelsMachine {
    /// Frames have arrived together, at most `framesPerCommit` of them; called only while
    /// ``mayRead``.
    ///
    /// No content of a frame traps here.
    package mutating func framesReceived(
        _ frames: ArraySlice<[UInt8]>, at now: Duration, jitter: Double
    ) -> [Action] {
        precondition(mayRead, "driver bug: framesReceived while \(disk)")
        connection.framesReceived(at: now)
        guard !isStranger else { return take() }
        tally.framesRead += Int64(frames.count)
        var reading = Reading(now: now, jitter: jitter)
        for bytes in frames { read(bytes, &reading) }
        finish(&reading)
        if let welcome = reading.welcome { greet(welcome, at: now, jitter: jitter) }
        flush()
        submit(reading.batch)
        return take()
    }

    private struct Reading {
        let now: Duration
        let jitter: Double
        var batch = StagedBatch()
        var touched: [Int] = []
        /// The channel of the last event: a catch-up names the same one a thousand times.
        var current: (channel: ChannelName, place: Int)?
        var welcome: ServerFrame.Welcome?
    }

    private mutating func read(_ bytes: [UInt8], _ reading: inout Reading) {
        guard let frame = try? decoder.serverFrame(bytes) else {
            // What it would have covered stays a hole, and is asked for again.
            unroutableFrames += 1
            return
        }
        guard case .event(let event) = frame else { return receive(frame, &reading) }
        if reading.current?.channel != event.channel {
            reading.current = places[event.channel].map { (event.channel, $0) }
        }
        guard let place = reading.current?.place else {
            unroutableFrames += 1
            return
        }
        touch(place, &reading)
        subscriptions[place].receive(event)
    }

    private mutating func touch(_ place: Int, _ reading: inout Reading) {
        guard !subscriptions[place].isTouched else { return }
        subscriptions[place].isTouched = true
        reading.touched.append(place)
    }

    private mutating func receive(_ frame: ServerFrame, _ reading: inout Reading) {
        let (now, jitter) = (reading.now, reading.jitter)
        switch frame {
        case .event: break  // the hot path, above
        case .welcome(let frame): reading.welcome = frame
        case .published(let published):
            emit(.published(published, isSubscribed: places[published.channel] != nil))
        case .authenticated(let session): authenticated(session, at: now, jitter: jitter)
        case .positions, .receipt, .typing: emit(.heard(frame))
        case .error(let code, let message):
            connection.errorReceived(code)
            disconnection = Disconnection(
                closeCode: code, error: RepriseError(.unavailable, "The server says: \(message)"))
        case .heartbeat(_, let heads):
            for (channel, head) in heads.sorted(by: { $0.key < $1.key }) {
                guard let place = places[channel] else { continue }
                perform(
                    subscriptions[place].machine.heartbeatReceived(head: head, at: now), of: place)
            }
        case .refused(let refused):
            if refused.id != nil { return emit(.refused(refused)) }
            with(refused.channel, &reading) { $0.refusedReceived(refused, at: now, jitter: jitter) }
        case .subscribed(let subscribed):
            // Earlier frames belong to the earlier positions.
            if let place = places[subscribed.channel] {
                subscriptions[place].cut(into: &reading.batch)
            }
            with(subscribed.channel.text, &reading) { $0.subscribedReceived(subscribed, at: now) }
            emit(.heard(frame))
        case .gone(let channel, let gone): with(channel.text, &reading) { $0.goneReceived(gone) }
        case .syncComplete(let complete):
            with(complete.channel.text, &reading) {
                $0.syncCompleteReceived(complete, at: now, jitter: jitter)
            }
        }
    }

    /// Passes a frame to its channel's machine, and stages the coverage if that has changed.
    private mutating func with(
        _ channel: String?, _ reading: inout Reading,
        _ input: (inout SubscriptionMachine) -> [SubscriptionMachine.Action]
    ) {
        guard let channel, let name = try? ChannelName(channel), let place = places[name] else {
            unroutableFrames += 1
            return
        }
        touch(place, &reading)
        let revision = subscriptions[place].machine.revision
        perform(input(&subscriptions[place].machine), of: place)
        if subscriptions[place].machine.revision != revision { subscriptions[place].stage { _ in } }
    }

    private mutating func finish(_ reading: inout Reading) {
        for place in reading.touched {
            subscriptions[place].isTouched = false
            subscriptions[place].tally.batchRead(at: reading.now)
            perform(
                subscriptions[place].machine.batchRead(at: reading.now, jitter: reading.jitter),
                of: place)
            subscriptions[place].cut(into: &reading.batch)
            let subscription = subscriptions[place]
            reading.batch.revisions.append(
                .init(channel: subscription.channel, number: subscription.machine.revision))
        }
    }

    private mutating func greet(_ welcome: ServerFrame.Welcome, at now: Duration, jitter: Double) {
        if let mistake = tokens.mismatch(welcome.session) { return refuse(mistake, at: now) }
        let steps = connection.welcomeReceived(welcome, at: now)
        perform(steps, at: now)
        guard steps.contains(.begin) else { return }
        perform(tokens.welcomed(welcome, at: now, jitter: jitter), at: now, jitter: jitter)
        tally.welcomes += 1
        tally.connectedAt = now
        emit(.announce(.connected))
        for place in subscriptions.indices {
            perform(subscriptions[place].machine.connected(at: now), of: place)
        }
        flush()
        emit(.openSession(serverTime: welcome.time, user: welcome.session?.user))
    }
}
