import RepriseCore
import RepriseServer
import RepriseWire

/// What a server does otherwise in a cluster.
extension ServerLife {
    // MARK: Through the journal

    func commit(
        _ batch: [Queue.Submission], _ messages: [NewMessage], by gateway: SimulatedGateway
    ) {
        let commands = ClusterLog.commands(
            for: messages.map { message in
                var message = message
                if mutation == .clusterDecidesRights { message.isAdmin = message.mayChangeOthers }
                return message
            })
        answerTooEarly(batch, by: gateway)
        gateway.submit(commands) { [unowned self] result in
            do {
                let results = try ClusterLog.results(of: result.get())
                queue.logAnswered(hasFailed: false)
                stored(Queue.stored(batch, results))
            } catch {
                queue.logAnswered(hasFailed: true)
                stored(Queue.failed(batch, error))
            }
        }
    }

    func setMember(
        _ seat: SimulatedAccounts.Seat, _ role: Member.Role?, by gateway: SimulatedGateway,
        _ reply: @escaping (Bool) -> Void
    ) {
        let admin = Principal(user: nil, isAdmin: true)
        let command: any JournaledCommand =
            if let role {
                SetMember(seat.user, role, in: seat.channel, by: admin)
            } else {
                RemoveMember(seat.user, from: seat.channel, by: admin)
            }
        gateway.submit([.account(command)]) { result in
            // Who is no member cannot be removed: he is none.
            if case .success = result { reply(true) } else { reply(false) }
        }
    }

    func grant(_ who: Principal, in channel: ChannelName, at gateway: SimulatedGateway) -> Grant? {
        server.attempt { try gateway.grant(who, in: channel) }
    }

    /// Wrong drivers: they answer what is on its way.
    private func answerTooEarly(_ batch: [Queue.Submission], by gateway: SimulatedGateway) {
        guard mutation == .clusterAnswersBeforeApplied else { return }
        for submission in batch {
            var heads: [ChannelName: Int64] = [:]
            let results = submission.messages.map { message in
                let head = (heads[message.channel] ?? server.state(of: message.channel).head) + 1
                heads[message.channel] = head
                return AppendResult.duplicate(seq: head)
            }
            submission.reply(.success(results))
        }
    }

    // MARK: From the journal

    /// An entry is applied here: in the order of the shipping server.
    func applied(_ entry: AppliedEntry) {
        for case .changed(_, let effects) in entry.outcomes {
            guard let access = effects.access, let user = access.user else { continue }
            post(.accessChanged(.init(channel: access.channel, user: user)))
        }
        for arrival in entry.arrivals {
            for other in roster.superseded(arrival.device, by: arrival.generation) {
                post(.replace(other, by: nil))
            }
        }
        fanOut(entry.events)
    }
}
