import DequeModule
package import RepriseCore
package import RepriseWire

/// Decides which messages wait, which are stored together, and who is notified of the result;
/// `Committer` acts.
///
/// `Reply` is how a submitter is answered: it is passed through and never inspected.
package struct CommitQueue<Reply> {
    /// Messages that are stored and answered together.
    package struct Submission {
        package let messages: [NewMessage]
        package let reply: Reply
        let byteCount: Int
        /// When it came, by the uptime; nil where nobody asks.
        let taken: Duration?

        package init(messages: [NewMessage], reply: Reply, taken: Duration? = nil) {
            self.messages = messages
            self.reply = reply
            self.taken = taken
            byteCount = messages.reduce(0) { $0 + $1.body.count }
        }
    }

    /// The actions for a batch, in order: subscribers get it before its publisher is answered.
    package enum Action {
        case fanOut([ServerFrame.Event])
        /// The outcome is unknown in these channels; subscribers must read the log.
        case doubt(Set<ChannelName>)
        case answer(Reply, Result<[AppendResult], RepriseError>)
    }

    package private(set) var isOpen = true
    /// Whether the last commit failed.
    package private(set) var hasFailed = false
    private let limits: Committer.Limits
    private var waiting: Deque<Submission> = []
    package private(set) var messageCount = 0
    private var byteCount = 0

    package init(limits: Committer.Limits) { self.limits = limits }

    /// Accepts a submission.
    ///
    /// - Returns: why it is refused; nil if it is queued.
    package mutating func add(_ submission: Submission) -> RepriseError? {
        guard isOpen else {
            return RepriseError(
                .closed, "The server is shutting down.", remedy: "Connect again shortly.")
        }
        guard messageCount + submission.messages.count <= limits.waitingMessages,
            byteCount + submission.byteCount <= limits.waitingBytes
        else {
            return RepriseError(
                .full, "Too many messages wait to be stored.", remedy: "Try again shortly.")
        }
        waiting.append(submission)
        messageCount += submission.messages.count
        byteCount += submission.byteCount
        return nil
    }

    /// Takes what fits into one transaction; at least one submission, if any waits.
    package mutating func take() -> [Submission] {
        var (messages, bytes, end) = (0, 0, 0)
        while end < waiting.count {
            messages += waiting[end].messages.count
            bytes += waiting[end].byteCount
            if end > 0,
                messages > limits.batchMessages || bytes > limits.batchBytes || isLate(end)
            {
                break
            }
            end += 1
        }
        let batch = Array(waiting.prefix(end))
        waiting.removeFirst(end)
        messageCount -= batch.reduce(0) { $0 + $1.messages.count }
        byteCount -= batch.reduce(0) { $0 + $1.byteCount }
        return batch
    }

    /// Whether a submission came too long after the first to be answered with it.
    private func isLate(_ index: Int) -> Bool {
        guard let first = waiting[0].taken, let taken = waiting[index].taken else { return false }
        return taken - first > limits.span
    }

    /// A commit has ended, or the log was probed.
    package mutating func logAnswered(hasFailed: Bool) { self.hasFailed = hasFailed }

    /// Refuses submissions from now on.
    package mutating func close() { isOpen = false }

    /// The batch is durable.
    package static func stored(_ batch: [Submission], _ results: [AppendResult]) -> [Action] {
        var events: [ServerFrame.Event] = []
        for result in results { result.forEachEvent { events.append($0) } }
        var actions: [Action] = events.isEmpty ? [] : [.fanOut(events)]
        actions.reserveCapacity(batch.count + 1)
        var rest = results[...]
        for submission in batch {
            actions.append(
                .answer(submission.reply, .success(Array(rest.prefix(submission.messages.count)))))
            rest = rest.dropFirst(submission.messages.count)
        }
        return actions
    }

    /// Storing the batch has failed; its outcome is unknown, unless a cluster has not taken it.
    package static func failed(_ batch: [Submission], _ error: any Error) -> [Action] {
        if let error = error as? RepriseError, error.code == .full {
            return batch.map { .answer($0.reply, .failure(error)) }
        }
        let failure = RepriseError(
            .unavailable, "The server does not know whether this was stored.",
            remedy: "Send it again with the same id.", cause: error)
        let channels = Set(batch.lazy.flatMap(\.messages).map(\.channel))
        return [.doubt(channels)] + batch.map { .answer($0.reply, .failure(failure)) }
    }

}

extension CommitQueue.Submission: Sendable where Reply: Sendable {}
