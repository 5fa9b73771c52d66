import RepriseServer
import RepriseWire

extension ServerLife {
    /// Reads at one moment and answers at a later one, so that events are committed and dispatched
    /// in between.
    func read(
        _ read: ServerSubscriptionMachine.Read, of channel: ChannelName, ticket: UInt32, for id: Int
    ) {
        later(.microseconds(50), .milliseconds(40)) { [self] in
            let fails = server.random.chance(server.settings.failingReads)
            var answer = ReadAnswer(channel: channel, ticket: ticket, content: .failed)
            if !fails { server.attempt { try fill(&answer, read) } }
            later(.microseconds(50), .milliseconds(40)) { [self] in post(.read(by: id, answer)) }
        }
    }

    private func fill(_ answer: inout ReadAnswer, _ read: ServerSubscriptionMachine.Read) throws {
        let channel = answer.channel
        switch read {
        case .state: answer.content = .state(try server.store.state(of: channel))
        case .page(let missing):
            let limits = server.settings.limits
            let page = try server.store.page(
                of: channel, missing: missing, limit: limits.pageMessages,
                byteLimit: limits.pageBytes)
            answer.content = .page(through: page.through, epoch: page.state.epoch)
            answer.page =
                page.gone.map { SimulatedFrame(.gone(channel: channel, $0)) }
                + page.events.map { SimulatedFrame(.event($0)) }
        }
    }
}
