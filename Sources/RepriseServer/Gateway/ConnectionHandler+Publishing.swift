import NIOCore
import RepriseCore
import RepriseWire

extension ConnectionHandler {
    func publish(_ publish: ClientFrame.Publish, _ grant: Grant) {
        let message = NewMessage(
            publish, from: principal.user, mayChangeOthers: grant.mayManage)
        if let refusal = PublishAnswer.refusal(of: message) { return send(refusal) }
        if let wait = gateway.limiter.wait(for: principal, now: now) {
            return refuse(publish, .rateLimited, "This user publishes too fast.", retryAfter: wait)
        }
        publishes.append(message)
    }

    /// Submits all publishes of a read together: one entry in the committer's queue, one flush for
    /// the answers.
    func submitPublishes() {
        guard !publishes.isEmpty else { return }
        let messages = publishes
        publishes = []
        machine.publishesAccepted(messages.count)
        let shard = loopHub.shard
        gateway.committer.submit(messages) { [id] result in
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
        if machine.maySend { send(buffer) }
        answered(messages.count)
    }
}
