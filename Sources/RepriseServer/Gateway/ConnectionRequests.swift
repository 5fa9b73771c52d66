import Logging
import NIOCore
import RepriseCore
import RepriseWire

/// A connection's requests: each waits for the user's grant in its channel, and is then performed.
///
/// A grant is looked up once per channel, before any of its requests is performed. On the
/// connection's event loop.
final class ConnectionRequests {
    private unowned let connection: ConnectionHandler
    private var cache: AuthorizationCache<ChannelRequest, CachedGrant>
    /// The bytes of the bodies that wait for a grant.
    private var waitingBytes = 0
    /// Of the grants that are being looked up: see ``CachedGrant``.
    private var asked = 0
    private var receipts = ReceiptCoalescer()
    /// Publishes of the current read; they are submitted together.
    private var publishes: [NewMessage] = []
    /// What they carry in a cluster.
    var fence: FencingToken?
    private var owesPresence = false

    init(of connection: ConnectionHandler) {
        self.connection = connection
        cache = AuthorizationCache(
            remembered: 2 * connection.gateway.limits.channelsPerConnection)
    }

    private var gateway: Gateway { connection.gateway }
    private var loopHub: EventLoopHub { connection.loopHub }
    private var subscriptions: ConnectionSubscriptions { connection.subscriptions }

    /// Whether one more request may wait for a grant.
    var mayWait: Bool {
        cache.waitingCount < gateway.limits.publishesInFlight
            && waitingBytes < Self.mostWaitingBytes
    }

    /// Whether no request is pending here.
    var isEmpty: Bool { cache.waitingCount == 0 && publishes.isEmpty }

    func accept(_ asked: ClientRequest) {
        for refused in asked.refused {
            gateway.metrics.refused("subscribe", refused.code)
            connection.send(.refused(refused))
        }
        switch asked.frame {
        case .publish(let publish):
            // Before it waits for a grant: a frame may be 16 times as large as a message.
            if let refusal = PublishAnswer.refusal(of: publish) { return connection.send(refusal) }
            request(.publish(publish), in: publish.channel)
        case .subscribe(let requests):
            // Channels that a person is looking at go first, wherever they are in the frame.
            for isFirst in [true, false] {
                for wanted in requests where wanted.isFirst == isFirst {
                    request(.subscribe(wanted, number: asked.number), in: wanted.channel)
                }
            }
        case .unsubscribe(let channels): channels.forEach(leave)
        case .receipt(let receipt): request(.receipt(receipt), in: receipt.channel)
        case .typing(let channel, let isTyping): request(.typing(isTyping), in: channel)
        case .presence(let state):
            guard let presence = gateway.presence else { return refusePresence() }
            connection.reported(isIdle: state == .idle, to: presence)
        case .watch(let wanted): watch(wanted)
        case .hello, .authenticate: break  // the machine has answered with more than accept
        }
    }

    func request(_ request: ChannelRequest, in channel: ChannelName) {
        guard gateway.asksWho else { return perform(request, in: channel, .success(.everything)) }
        guard let known = cache.arrived(request, in: channel, first: request.isFirst) else {
            waitingBytes += request.bodyBytes
            return
        }
        guard !loopHub.accessChanges.includes(channel, since: known.asked) else {
            cache.changed(channel)
            return self.request(request, in: channel)
        }
        perform(request, in: channel, .success(known.grant))
    }

    /// An unsubscribe waits only behind pending requests: it needs no right.
    func leave(_ channel: ChannelName) {
        if cache.isAsking(channel) {
            request(.unsubscribe, in: channel)
        } else {
            subscriptions.unsubscribe(channel)
        }
    }

    /// Looks up the grants that pending requests need; one lookup for all requests of a read.
    func askForAccess() {
        let questions = cache.nextQuestions(Self.questionsAtOnce)
        guard !questions.isEmpty else { return }
        asked = loopHub.accessChanges.count
        let shard = loopHub.shard
        gateway.reader.ask(questions, for: connection.principal) { [id = connection.id] answers in
            shard.post(.access(to: id, answers))
        }
    }

    func accessAnswered(_ answers: [AccessAnswer]) {
        guard connection.machine.maySend else { return }
        cache.questionsEnded()
        for answer in answers {
            let channel = answer.question.channel
            // What precedes a change is looked up again.
            if loopHub.accessChanges.includes(channel, since: asked) { cache.changed(channel) }
            let grant = try? answer.grant.get()
            let known = grant.flatMap {
                $0.mayRead || $0.mayPublish ? CachedGrant(grant: $0, asked: asked) : nil
            }
            for request in cache.answered(answer.question, known) {
                waitingBytes -= request.bodyBytes
                perform(request, in: channel, answer.grant)
            }
        }
        submitPublishes()
        askForAccess()
        connection.leaveIfAnswered()
        connection.readAgain()
    }

    /// The user's grant in the channel has changed, or may have.
    func accessChanged(_ channel: ChannelName) {
        cache.changed(channel)
        if let subscription = subscriptions[channel] { lookAgain(at: subscription) }
        askForAccess()
    }

    /// The connection has a new token: its rights may differ.
    func rightsChanged() {
        cache.allChanged()
        for subscription in subscriptions.channels { lookAgain(at: subscription) }
        askForAccess()
    }

    /// Nothing of the channel is sent until the user's current grant is known.
    private func lookAgain(at subscription: HubSubscription) {
        // The request that waits is answered with the newest grant.
        guard !subscription.machine.isHeld else { return }
        subscription.machine.accessBecameUncertain()
        request(.lookAgain, in: subscription.channel)
    }

    private func perform(
        _ request: ChannelRequest, in channel: ChannelName, _ answer: Result<Grant, RepriseError>
    ) {
        switch answer {
        case .success(let grant): perform(request, in: channel, grant)
        case .failure(let error):
            connection.log(
                .warning, "rights not known", ["channel": "\(channel)", "error": "\(error)"])
            postpone(request, in: channel)
        }
    }

    private func perform(_ request: ChannelRequest, in channel: ChannelName, _ grant: Grant) {
        switch request {
        case .subscribe(let wanted, let number):
            guard grant.mayRead else {
                return endSubscription(of: channel, isAsked: true, number: number)
            }
            subscriptions.subscribe(wanted, number: number, grant)
        case .unsubscribe: subscriptions.unsubscribe(channel)
        case .publish(let message):
            guard grant.mayPublish else {
                return connection.refuse(message, .forbidden, Self.forbidden)
            }
            publish(message, grant)
        case .receipt(let receipt):
            guard grant.mayRead else { return endSubscription(of: channel, isAsked: true) }
            take(receipt)
        case .typing(let isTyping):
            if grant.mayPublish { typed(isTyping, in: channel) }
        case .lookAgain:
            guard let subscription = subscriptions[channel] else { return }
            guard grant.mayRead else { return endSubscription(of: channel, isAsked: false) }
            subscription.grant = grant
            subscription.machine.accessWasGranted(joined: grant.joined)
            subscriptions.readIfWanted(subscription)
        }
    }

    /// The lookup of the grant has failed.
    private func postpone(_ request: ChannelRequest, in channel: ChannelName) {
        switch request {
        case .subscribe(_, let number):
            connection.refuse(
                channel, .unavailable, Self.unavailable, retryAfter: .seconds(1), number: number)
            subscriptions.unsubscribe(channel)
        case .receipt:
            connection.refuse(channel, .unavailable, Self.unavailable, retryAfter: .seconds(1))
            subscriptions.unsubscribe(channel)
        case .publish(let message):
            connection.refuse(message, .unavailable, Self.unavailable, retryAfter: .seconds(1))
        case .unsubscribe: subscriptions.unsubscribe(channel)
        case .typing: break
        case .lookAgain:
            guard let subscription = subscriptions[channel] else { return }
            connection.later { connection in
                guard connection.subscriptions[channel] === subscription else { return }
                connection.requests.request(.lookAgain, in: channel)
                connection.requests.askForAccess()
            }
        }
    }

    /// The user may not read the channel: nothing of it is sent after this.
    private func endSubscription(
        of channel: ChannelName, isAsked: Bool, number: Int64? = nil
    ) {
        guard isAsked || subscriptions[channel] != nil else { return }
        if subscriptions[channel] != nil {
            subscriptions.unsubscribe(channel)
            connection.log(.debug, "subscription ended", ["channel": "\(channel)"])
        }
        receipts.ended(in: channel)
        connection.refuse(channel, .forbidden, Self.forbidden, number: number)
    }

    // MARK: Publishing

    func publish(_ publish: ClientFrame.Publish, _ grant: Grant) {
        let message = NewMessage(
            publish, from: connection.principal.user, mayChangeOthers: grant.mayManage,
            isAdmin: connection.principal.isAdmin, fence: fence)
        if let wait = gateway.limiter.wait(for: connection.principal, now: connection.now) {
            return connection.refuse(
                publish, .rateLimited, "This user publishes too fast.", retryAfter: wait)
        }
        publishes.append(message)
    }

    /// Submits all publishes of a read together: one entry in the committer's queue, one flush for
    /// the answers.
    func submitPublishes() {
        guard !publishes.isEmpty else { return }
        let messages = publishes
        publishes = []
        connection.machine.publishesAccepted(messages.count)
        let shard = loopHub.shard
        gateway.committer.submit(messages) { [id = connection.id] result in
            shard.post(.answers(to: id, messages, result))
        }
    }

    func publishesAnswered(
        _ messages: [NewMessage], _ result: Result<[AppendResult], RepriseError>
    ) {
        var buffer = ByteBuffer()
        switch result {
        case .success(let results):
            for (message, result) in zip(messages, results) {
                WebSocketFraming.write(PublishAnswer.frame(to: message, result), to: &buffer)
            }
        case .failure(let error):
            for message in messages {
                WebSocketFraming.write(PublishAnswer.frame(to: message, error), to: &buffer)
            }
        }
        if connection.machine.maySend { connection.send(buffer) }
        connection.answered(messages.count)
    }

    // MARK: Receipts

    func take(_ receipt: ClientFrame.Receipt) {
        guard gateway.asksWho else { return refuseWithoutUsers("receipt") }
        if let receipt = receipts.arrived(receipt) { move(receipt) }
    }

    /// Makes a receipt durable; it counts as a pending request.
    private func move(_ receipt: ClientFrame.Receipt) {
        let who = connection.principal
        guard let user = who.user else { return }
        connection.machine.publishesAccepted(1)
        gateway.move(
            receipt, of: user, isAdmin: who.isAdmin, on: connection.machine.device,
            by: connection.id, through: loopHub.shard)
    }

    /// A receipt is durable: the echo confirms it.
    func moved(_ telling: PositionUpdates.Telling) {
        if connection.machine.maySend {
            let position =
                subscriptions[telling.channel]?.seen(telling.position) ?? telling.position
            connection.send(.receipt(channel: telling.channel, position))
        }
        if let next = receipts.moved(in: telling.channel), connection.machine.takesRequests {
            move(next)
        }
        connection.answered(1)
    }

    /// It is tried again; after a refusal only where a fresh look at the user's grant allows it.
    func moveFailed(_ receipt: ClientFrame.Receipt, isRefused: Bool) {
        connection.answered(1)
        connection.later { connection in
            let requests = connection.requests
            if isRefused { requests.askAgain(receipt) } else { requests.move(receipt) }
        }
    }

    private func askAgain(_ refused: ClientFrame.Receipt) {
        cache.changed(refused.channel)
        request(.receipt(receipts.refused(refused)), in: refused.channel)
        askForAccess()
    }

    // MARK: Typing

    func typed(_ isTyping: Bool, in channel: ChannelName) {
        guard gateway.asksWho else { return refuseWithoutUsers("typing") }
        guard let user = connection.principal.user, let subscription = subscriptions[channel],
            !subscription.machine.isHeld
        else { return }
        loopHub.typed(isTyping, by: user, at: connection.id, in: channel)
    }

    // MARK: Presence

    private func watch(_ wanted: [ClientFrame.Watch]) {
        guard let presence = gateway.presence, let user = connection.principal.user else {
            return refusePresence()
        }
        presence.watched(wanted, by: connection.place, of: user)
    }

    /// Sends presence of others; not under backpressure, when it would be stale.
    func told(_ frame: ByteBuffer) {
        guard connection.machine.isOpen else { return }
        if connection.isWritable { connection.send(frame) } else { owesPresence = true }
    }

    /// The backlog is drained: what was not sent meanwhile is looked at again.
    func tellMissedPresence() {
        guard owesPresence else { return }
        owesPresence = false
        gateway.presence?.missed(by: connection.id)
    }

    private func refusePresence() {
        gateway.metrics.refused("presence", .notOffered)
        connection.send(
            .refused(
                .init(
                    channel: nil, id: nil, code: .notOffered,
                    message: "This server does not tell presence.")))
    }

    /// Without a channel, because that would end a subscription.
    private func refuseWithoutUsers(_ what: String) {
        gateway.metrics.refused(what, .forbidden)
        connection.send(
            .refused(
                .init(
                    channel: nil, id: nil, code: .forbidden,
                    message:
                        "This server asks nobody who he is: it knows no positions and no typing."
                )))
    }

    // MARK: -

    /// The most channels per lookup, so that other connections are answered soon.
    static let questionsAtOnce = 32
    /// The bytes of bodies that wait for a grant, beyond which the socket is not read.
    static let mostWaitingBytes = 2 << 20
    private static let forbidden = "This channel is not there, or not for this user."
    private static let unavailable = "The server cannot look at this now."
}
