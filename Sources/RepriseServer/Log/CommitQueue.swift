import RepriseCore
import RepriseWire

/// Decides what waits for the committer, within bounds; `Committer` acts.
struct CommitQueue {
    /// Messages that are stored and answered together.
    struct Submission: Sendable {
        let messages: [NewMessage]
        let reply: Committer.Reply
        let byteCount: Int

        init(messages: [NewMessage], reply: @escaping Committer.Reply) {
            self.messages = messages
            self.reply = reply
            byteCount = messages.reduce(0) { $0 + $1.body.count }
        }
    }

    typealias Waiter = CheckedContinuation<Void, Never>

    enum Action {
        case queued
        case wake(Waiter)
        case refused(RepriseError)
    }

    private(set) var isOpen = true
    /// Whether the last commit failed.
    var hasFailed = false
    private let limits: Committer.Limits
    private var waiting: [Submission] = []
    private var messageCount = 0
    private var byteCount = 0
    private var waiter: Waiter?

    init(limits: Committer.Limits) { self.limits = limits }

    mutating func add(_ submission: Submission) -> Action {
        guard isOpen else {
            return .refused(
                RepriseError(
                    .closed, "The server is shutting down.", remedy: "Connect again shortly."))
        }
        guard messageCount + submission.messages.count <= limits.waitingMessages,
            byteCount + submission.byteCount <= limits.waitingBytes
        else {
            return .refused(
                RepriseError(
                    .full, "Too many messages wait to be stored.", remedy: "Try again shortly."))
        }
        waiting.append(submission)
        messageCount += submission.messages.count
        byteCount += submission.byteCount
        return waiter.take().map { .wake($0) } ?? .queued
    }

    /// Takes what fits into one transaction; at least one submission, if there is one.
    mutating func take() -> [Submission] {
        var (messages, bytes, end) = (0, 0, 0)
        while end < waiting.count {
            messages += waiting[end].messages.count
            bytes += waiting[end].byteCount
            if end > 0, messages > limits.batchMessages || bytes > limits.batchBytes { break }
            end += 1
        }
        let batch: [Submission]
        if end == waiting.count {
            batch = waiting
            waiting = []
        } else {
            batch = Array(waiting[..<end])
            waiting.removeFirst(end)
        }
        messageCount -= batch.reduce(0) { $0 + $1.messages.count }
        byteCount -= batch.reduce(0) { $0 + $1.byteCount }
        return batch
    }

    /// - Returns: whether `waiter` is kept; if not, there is something to do already.
    mutating func wait(_ waiter: Waiter) -> Bool {
        guard isOpen, waiting.isEmpty else { return false }
        precondition(self.waiter == nil, "run() is called once")
        self.waiter = waiter
        return true
    }

    /// - Returns: whom to wake.
    mutating func close() -> Waiter? {
        isOpen = false
        return waiter.take()
    }
}
