import RepriseCore
import RepriseServer
import RepriseWire

/// What the user of the connection may do: what `ConnectionRequests` does with the shipping
/// `AuthorizationCache`.
extension ServerConnection {
    typealias Cache = AuthorizationCache<Request, Grant>

    /// What a connection wants of one channel.
    enum Request {
        case subscribe(ClientFrame.Subscription)
        case unsubscribe
        case publish(ClientFrame.Publish)
        /// It is subscribed, and what its user may do has changed.
        case lookAgain
    }

    func request(_ request: Request, in channel: ChannelName) {
        guard life.server.accounts != nil else { return perform(request, in: channel, .everything) }
        guard let grant = cache.arrived(request, in: channel) else { return }
        perform(request, in: channel, grant)
    }

    func leave(_ channel: ChannelName) {
        if cache.isAsking(channel) {
            request(.unsubscribe, in: channel)
        } else {
            unsubscribe(channel)
        }
    }

    func askForAccess() {
        let questions = cache.nextQuestions(32)
        guard !questions.isEmpty else { return }
        life.ask(questions, for: machine.principal, at: id)
    }

    func accessAnswered(_ answers: [ServerLife.AccessAnswer]) {
        guard machine.maySend else { return }
        cache.questionsEnded()
        for answer in answers {
            let channel = answer.question.channel
            let known = answer.grant.flatMap { $0.mayRead || $0.mayPublish ? $0 : nil }
            for request in cache.answered(answer.question, known) {
                if let grant = answer.grant {
                    perform(request, in: channel, grant)
                } else {
                    postpone(request, in: channel)
                }
            }
        }
        submitPublishes()
        askForAccess()
        updateReading()
    }

    func accessChanged(_ channel: ChannelName) {
        if life.mutation != .authorizationStaysCached { cache.changed(channel) }
        if let subscription = subscriptions.first(where: { $0.channel == channel }) {
            subscription.machine.accessBecameUncertain()
            request(.lookAgain, in: channel)
        }
        askForAccess()
    }

    private func perform(_ request: Request, in channel: ChannelName, _ grant: Grant) {
        var grant = grant
        if life.mutation == .historyBeforeJoinSent { grant.joined = 0 }
        switch request {
        case .subscribe(let wanted):
            guard grant.mayRead else { return endSubscription(of: channel, isAsked: true) }
            subscribe(wanted, grant)
        case .unsubscribe: unsubscribe(channel)
        case .publish(let message):
            guard grant.mayPublish else { return refuse(message, .forbidden) }
            publish(message, grant)
        case .lookAgain:
            guard let subscription = subscriptions.first(where: { $0.channel == channel }) else {
                return
            }
            guard grant.mayRead else { return endSubscription(of: channel, isAsked: false) }
            subscription.grant = grant
            subscription.machine.accessWasGranted(joined: grant.joined)
            readIfWanted(subscription)
        }
    }

    /// The accounts could not be asked.
    private func postpone(_ request: Request, in channel: ChannelName) {
        switch request {
        case .subscribe:
            refuse(channel, .unavailable, retryAfter: .seconds(1))
            unsubscribe(channel)
        case .publish(let message): refuse(message, .unavailable, retryAfter: .seconds(1))
        case .unsubscribe: unsubscribe(channel)
        case .lookAgain:
            life.simulation.after(.seconds(1), on: life.process) { [unowned self] in
                guard machine.isOpen, subscriptions.contains(where: { $0.channel == channel })
                else { return }
                self.request(.lookAgain, in: channel)
                askForAccess()
                life.flush()
            }
        }
    }

    /// The user may not read the channel: nothing of it is sent after this.
    private func endSubscription(of channel: ChannelName, isAsked: Bool) {
        let isOpen = subscriptions.contains { $0.channel == channel }
        guard isAsked || isOpen else { return }
        unsubscribe(channel)
        refuse(channel, .forbidden)
    }

    private func refuse(
        _ channel: ChannelName, _ code: RefusalCode, retryAfter: Duration? = nil
    ) {
        send(
            .refused(
                .init(
                    channel: channel.text, id: nil, code: code, message: "", retryAfter: retryAfter)
            ))
    }

    private func refuse(
        _ message: ClientFrame.Publish, _ code: RefusalCode, retryAfter: Duration? = nil
    ) {
        send(
            .refused(
                .init(
                    channel: message.channel.text, id: message.id.text, code: code, message: "",
                    retryAfter: retryAfter)))
    }
}
