import RepriseCore
import RepriseWire

/// Turns the decisions of the connection's and the subscriptions' machines into actions of the
/// driver.
extension ChannelsMachine {
    mutating func perform(_ steps: [ConnectionMachine.Action], at now: Duration) {
        for step in steps {
            switch step {
            case .dial: dial(at: now)
            case .abandonDial: abandonDial(at: now)
            case .wait(let delay):
                emit(.announce(.waiting(delay: delay, because: disconnection)))
                schedule(.connection, at: now + delay)
            case .awaitNetwork: emit(.announce(.offline))
            case .awaitForeground: emit(.announce(.suspended))
            case .confirm: emit(.announce(.connected))
            case .stop: giveUp()
            case .sayHello:
                let hello = ClientFrame.Hello(
                    device: device, client: settings.client, token: tokens.token)
                emit(.send([ClientFrame.hello(hello).encoded()]))
            case .begin: break  // `greet` knows what the server said
            case .close(let code):
                if let error = Self.reason(code) { disconnection = Disconnection(error: error) }
                emit(.close(code))
            case .probe(let number): emit(.probe(number))
            case .scheduleTimer(let moment): schedule(.connection, at: moment)
            case .scheduleSleep(let moment):
                if let moment { schedule(.sleep, at: moment) } else { timers.cancel(.sleep) }
            }
        }
    }

    private static func reason(_ code: CloseCode) -> RepriseError? {
        switch code {
        case .unsupportedVersion:
            RepriseError(.refused, "The server speaks another version of the protocol.")
        case .handshakeTimedOut:
            RepriseError(.timedOut, "The server did not welcome us in time.")
        case .idle: RepriseError(.timedOut, "Nothing came from the server for too long.")
        default: nil
        }
    }

    static func described(_ error: any Error) -> RepriseError {
        if let error = error as? RepriseError { return error }
        return RepriseError(.unreachable, "The connection failed.", cause: error)
    }

    mutating func perform(_ steps: [SubscriptionMachine.Action], of place: Int) {
        for step in steps {
            let channel = subscriptions[place].channel
            switch step {
            case .subscribe(let epoch, let coverage):
                asks.removeAll { $0.channel == channel }
                asks.append(
                    .init(
                        channel: channel, epoch: epoch, coverage: coverage,
                        isFirst: onScreen.contains(channel)))
                subscriptions[place].tally.requests += 1
            case .startEpoch(let epoch, let missing):
                subscriptions[place].stage { segment in
                    segment.epoch = epoch
                    segment.formerMissing = missing
                }
            case .recordLoss(let ranges, let reason):
                subscriptions[place].stage {
                    $0.losses.append(.init(ranges: ranges, reason: reason))
                }
            case .recordSnapshot(let snapshot):
                subscriptions[place].stage { $0.snapshot = .wanted(snapshot) }
            case .settleSnapshot: subscriptions[place].stage { $0.snapshot = .taken }
            case .requestSnapshot(let snapshot): emit(.requestSnapshot(channel, snapshot))
            case .unsubscribe:
                asks.removeAll { $0.channel == channel }
                emit(.send([ClientFrame.unsubscribe([channel]).encoded()]))
            case .scheduleTimer(let moment): schedule(.channel(channel), at: moment)
            case .reconnect: wantsReconnect = true
            case .enter(let state):
                subscriptions[place].tally.entered(state)
                emit(.enter(channel, state))
            }
        }
    }

    /// Shows its state; the other actions were meant for a connection that is gone.
    mutating func show(_ steps: [SubscriptionMachine.Action], of place: Int) {
        for case .enter(let state) in steps {
            emit(.enter(subscriptions[place].channel, state))
        }
    }
}
