import Logging
import NIOCore
import RepriseCore
import RepriseWire

/// The connection's grants: looked up once per channel, before any of its requests is processed.
extension ConnectionHandler {
    func request(_ request: ChannelRequest, in channel: ChannelName) {
        guard gateway.asksWho else { return perform(request, in: channel, .success(.everything)) }
        guard let grant = cache.arrived(request, in: channel, first: request.isFirst) else {
            return
        }
        perform(request, in: channel, .success(grant))
    }

    /// An unsubscribe waits only behind pending requests: it needs no right.
    func leave(_ channel: ChannelName) {
        if cache.isAsking(channel) {
            request(.unsubscribe, in: channel)
        } else {
            unsubscribe(channel)
        }
    }

    /// Looks up the grants that pending requests need; one lookup for all requests of a read.
    func askForAccess() {
        let questions = cache.nextQuestions(Self.questionsAtOnce)
        guard !questions.isEmpty else { return }
        let shard = loopHub.shard
        gateway.reader.ask(questions, for: principal) { [id] answers in
            shard.post(.access(to: id, answers))
        }
    }

    func accessAnswered(_ answers: [AccessAnswer]) {
        guard machine.maySend else { return }
        cache.questionsEnded()
        for answer in answers {
            let channel = answer.question.channel
            let grant = try? answer.grant.get()
            let known = grant.flatMap { $0.mayRead || $0.mayPublish ? $0 : nil }
            for request in cache.answered(answer.question, known) {
                perform(request, in: channel, answer.grant)
            }
        }
        submitPublishes()
        askForAccess()
        leaveIfAnswered()
        readAgain()
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
        for subscription in subscriptions.values { lookAgain(at: subscription) }
        askForAccess()
    }

    /// Nothing of the channel is sent until the user's current grant is known.
    private func lookAgain(at subscription: HubSubscription) {
        subscription.machine.accessBecameUncertain()
        request(.lookAgain, in: subscription.channel)
    }

    private func perform(
        _ request: ChannelRequest, in channel: ChannelName, _ answer: Result<Grant, RepriseError>
    ) {
        switch answer {
        case .success(let grant): perform(request, in: channel, grant)
        case .failure(let error):
            log(.warning, "rights not known", ["channel": "\(channel)", "error": "\(error)"])
            postpone(request, in: channel)
        }
    }

    private func perform(_ request: ChannelRequest, in channel: ChannelName, _ grant: Grant) {
        switch request {
        case .subscribe(let wanted, let number):
            guard grant.mayRead else {
                return endSubscription(of: channel, isAsked: true, number: number)
            }
            subscribe(wanted, number: number, grant)
        case .unsubscribe: unsubscribe(channel)
        case .publish(let message):
            guard grant.mayPublish else { return refuse(message, .forbidden, Self.forbidden) }
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
            readIfWanted(subscription)
        }
    }

    /// The lookup of the grant has failed.
    private func postpone(_ request: ChannelRequest, in channel: ChannelName) {
        switch request {
        case .subscribe(_, let number):
            refuse(
                channel, .unavailable, Self.unavailable, retryAfter: .seconds(1), number: number)
            unsubscribe(channel)
        case .receipt:
            refuse(channel, .unavailable, Self.unavailable, retryAfter: .seconds(1))
            unsubscribe(channel)
        case .publish(let message):
            refuse(message, .unavailable, Self.unavailable, retryAfter: .seconds(1))
        case .unsubscribe: unsubscribe(channel)
        case .typing: break
        case .lookAgain:
            guard let subscription = subscriptions[channel] else { return }
            later { connection in
                guard connection.subscriptions[channel] === subscription else { return }
                connection.request(.lookAgain, in: channel)
                connection.askForAccess()
            }
        }
    }

    /// The user may not read the channel: nothing of it is sent after this.
    private func endSubscription(
        of channel: ChannelName, isAsked: Bool, number: Int64? = nil
    ) {
        guard isAsked || subscriptions[channel] != nil else { return }
        if subscriptions[channel] != nil {
            unsubscribe(channel)
            log(.debug, "subscription ended", ["channel": "\(channel)"])
        }
        receipts.ended(in: channel)
        refuse(channel, .forbidden, Self.forbidden, number: number)
    }

    // MARK: Refusing

    /// Refuses a subscription: a requested one, by the request's number, or an open one.
    func refuse(
        _ channel: ChannelName, _ code: RefusalCode, _ message: String,
        retryAfter: Duration? = nil, number: Int64? = nil
    ) {
        gateway.metrics.refused("subscribe", code)
        send(
            .refused(
                .init(
                    channel: channel.text, id: nil, code: code, message: message,
                    retryAfter: retryAfter, request: number)))
    }

    func refuse(
        _ message: ClientFrame.Publish, _ code: RefusalCode, _ text: String,
        retryAfter: Duration? = nil
    ) {
        gateway.metrics.refused("publish", code)
        send(
            .refused(
                .init(
                    channel: message.channel.text, id: message.id.text, code: code, message: text,
                    retryAfter: retryAfter)))
    }

    /// Runs `work` in a second, if the connection is still open then.
    func later(_ work: @escaping (ConnectionHandler) -> Void) {
        loopHub.shard.loop.assumeIsolated().scheduleTask(in: .seconds(1)) {
            guard self.machine.isOpen else { return }
            work(self)
            self.loopHub.flush()
        }
    }

    /// The most channels per lookup, so that other connections are answered soon.
    private static var questionsAtOnce: Int { 32 }
    private static var forbidden: String { "This channel is not there, or not for this user." }
    private static var unavailable: String { "The server cannot look at this now." }
}
