import RepriseCore
import RepriseWire
import Synchronization

/// A client's requests, and the answers.
extension MemoryServer {
    func receive(_ frame: ClientFrame, from id: Int) {
        state.withLock { state in
            guard state.connections[id] != nil else { return }
            guard isKnown(frame, from: id, &state) else { return refuse(id, &state) }
            switch frame {
            case .hello(let hello):
                state.devices[id] = hello.device.text
                welcome(id, &state)
            case .subscribe(let asked):
                for request in asked.filter(\.isFirst) + asked.filter({ !$0.isFirst }) {
                    state.requests.append(request)
                    guard mayUse(request.channel, state.users[id], state) else {
                        refuse(request.channel, of: id, &state)
                        continue
                    }
                    catchUp(request, of: id, &state)
                }
            case .unsubscribe(let channels):
                for channel in channels { state.subscriptions[id]?.remove(channel) }
            case .publish(let publish): store(publish, from: id, &state)
            case .receipt(let receipt): move(receipt, from: id, &state)
            case .authenticate: welcomeAgain(id, &state)
            case .typing(let channel, let isTyping): typed(isTyping, in: channel, by: id, &state)
            case .presence(let report): state.reports[id] = report
            case .watch(let watches): watched(watches, by: id, &state)
            }
        }
    }

    // MARK: Tokens

    /// Whether the frame is allowed: its token must be a user's, and on a connection that of one
    /// user.
    private func isKnown(_ frame: ClientFrame, from id: Int, _ state: inout State) -> Bool {
        let token: AccessToken?
        switch frame {
        case .hello(let hello): token = hello.token
        case .authenticate(let fresh): token = fresh
        default: return state.tokens == nil || state.users[id] != nil
        }
        guard let tokens = state.tokens else {
            state.users[id] = user
            return true
        }
        guard let shown = token.flatMap({ tokens[$0] }) else { return false }
        guard state.users[id] ?? shown == shown else { return false }
        state.users[id] = shown
        return true
    }

    private func refuse(_ id: Int, _ state: inout State) {
        state.refused += 1
        push(
            [.error(code: .unauthorized, message: "The token is not one that is known here.")],
            to: id, &state)
        state.subscriptions[id] = nil
        state.users[id] = nil
        state.connections.removeValue(forKey: id)?.socket.end(code: CloseCode.unauthorized.number)
    }

    private func session(of id: Int, _ state: State) -> ServerFrame.Session? {
        let time = WallTime(milliseconds: state.time)
        return state.users[id].map {
            .init(user: $0, expires: time.advanced(by: state.lifetime))
        }
    }

    private func welcomeAgain(_ id: Int, _ state: inout State) {
        if clock != nil { tick(&state) }
        guard let session = session(of: id, state) else { return }
        push([.authenticated(session)], to: id, &state)
    }

    private func welcome(_ id: Int, _ state: inout State) {
        if clock != nil { tick(&state) }
        let time = WallTime(milliseconds: state.time)
        state.greeted.append(state.users[id])
        push(
            [
                .welcome(
                    .init(
                        version: ClientFrame.Hello.currentVersion, time: time,
                        heartbeat: state.faults.heartbeat, server: "memory",
                        session: session(of: id, state),
                        directory: state.users[id].map { .directory(of: $0) },
                        hasPresence: state.users[id] != nil && state.presence != nil))
            ], to: id, &state)
    }

    private func store(_ publish: ClientFrame.Publish, from id: Int, _ state: inout State) {
        guard mayUse(publish.channel, state.users[id], state) else {
            return push(
                [
                    .refused(
                        .init(
                            channel: publish.channel.text, id: publish.id.text, code: .forbidden,
                            message: Self.forbidden))
                ], to: id, &state)
        }
        var change: MessageChange<Int64>?
        if let asked = publish.change {
            guard
                let target = state.logs[publish.channel]?.events.first(where: {
                    $0.id == asked.target
                })
            else {
                let refused = ServerFrame.Refused(
                    channel: publish.channel.text, id: publish.id.text, code: .noSuchMessage,
                    message: "There is no such message.")
                return push([.refused(refused)], to: id, &state)
            }
            change =
                switch asked {
                case .edits: .edits(target.seq)
                case .deletes: .deletes(target.seq)
                }
        }
        let seq = store(
            String(decoding: publish.body, as: UTF8.self), in: publish.channel, id: publish.id,
            from: state.users[id], change: change, &state)
        push(
            [.published(.init(channel: publish.channel, id: publish.id, seq: seq))], to: id, &state)
    }

    // MARK: Catch-up

    private func catchUp(_ request: ClientFrame.Subscription, of id: Int, _ state: inout State) {
        let channel = request.channel
        let log = state.logs[channel] ?? Log(epoch: Self.epoch(1))
        state.logs[channel] = log
        state.subscriptions[id, default: []].insert(channel)
        let faults = state.faults
        let target = max(0, log.head + faults.headOffset)
        let isReset = request.epoch == log.epoch && request.coverage.top > log.head
        let coverage = request.epoch == log.epoch && !isReset ? request.coverage : Coverage()
        var frames: [ServerFrame] = [
            .subscribed(
                .init(
                    channel: channel, epoch: log.epoch, head: target, floor: log.floor,
                    reset: isReset))
        ]
        if let user = state.users[id] {
            frames.append(.positions(positions(in: channel, for: user, state)))
        }
        let complete = ServerFrame.syncComplete(
            .init(
                channel: channel, epoch: log.epoch, through: target,
                time: WallTime(milliseconds: state.time)))
        if faults.completion == .before { frames.append(complete) }
        for range in coverage.complement(through: log.floor) {
            frames.append(.gone(channel: channel, Gone(range: range, reason: .retention)))
        }
        var missing = log.events.filter { $0.seq > log.floor && !coverage.contains($0.seq) }
        if let each = faults.skipsEach, each > 0 {
            missing = missing.enumerated().filter { ($0.offset + 1) % each != 0 }.map(\.element)
        }
        let events = faults.order.arranged(missing).flatMap { event in
            [ServerFrame](repeating: .event(event), count: max(1, faults.repeats))
        }
        send(frames, events, to: id, &state)
        if faults.completion == .after { push([complete], to: id, &state) }
    }

    /// The events of a catch-up, up to a fault's end.
    private func send(
        _ frames: [ServerFrame], _ events: [ServerFrame], to id: Int, _ state: inout State
    ) {
        if let limit = state.faults.closesAfter, events.count >= limit {
            state.faults.closesAfter = nil
            push(frames + events.prefix(limit), to: id, &state)
            let connection = state.connections.removeValue(forKey: id)
            state.subscriptions[id] = nil
            if let code = state.faults.closeCode {
                connection?.socket.end(code: code)
            } else {
                connection?.socket.end(code: 1006)
            }
        } else if let limit = state.faults.silentAfter, events.count >= limit {
            state.faults.silentAfter = nil
            push(frames + events.prefix(limit), to: id, &state)
            state.silent.insert(id)
        } else {
            push(frames + events, to: id, &state)
        }
    }

    func send(
        _ frames: [ServerFrame], toSubscribersOf channel: ChannelName, _ state: inout State
    ) {
        for (id, channels) in state.subscriptions where channels.contains(channel) {
            push(frames, to: id, &state)
        }
    }

    func push(_ frames: [ServerFrame], to id: Int, _ state: inout State) {
        guard !state.silent.contains(id) else { return }
        state.connections[id]?.socket.push(frames.map { $0.encoded() })
    }
}

extension MemoryServerFaults.Order {
    func arranged(_ events: [ServerFrame.Event]) -> [ServerFrame.Event] {
        switch self {
        case .sequence: return events
        case .backwards: return events.reversed()
        case .shuffled(let seed):
            var random = SeededGenerator(seed: seed)
            return events.shuffled(using: &random)
        case .streams(let count, let seed):
            var random = SeededGenerator(seed: seed)
            let size = max(1, (events.count + max(1, count) - 1) / max(1, count))
            var streams = stride(from: 0, to: events.count, by: size).map {
                events[$0..<min($0 + size, events.count)]
            }
            var arranged: [ServerFrame.Event] = []
            while let place = streams.indices.randomElement(using: &random) {
                if let event = streams[place].popFirst() { arranged.append(event) }
                if streams[place].isEmpty { streams.remove(at: place) }
            }
            return arranged
        }
    }
}
