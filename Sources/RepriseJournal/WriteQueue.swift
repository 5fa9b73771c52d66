import DequeModule
package import RepriseCore

/// Decides which jobs are committed together: jobs that wait during one commit share the next one.
package struct WriteQueue<Job> {
    package enum Disposition {
        /// Begin to commit: take one group after the other, until none is left.
        case begin
        /// A commit is running; waiting jobs come after it.
        case wait
        case refuse(RepriseError)
    }

    private var jobs: Deque<Job> = []
    private var isCommitting = false
    private var isClosed = false

    package init() {}

    /// How many wait.
    package var count: Int { jobs.count }

    /// After the `last` one no job is accepted.
    package mutating func add(_ job: Job, last: Bool = false) -> Disposition {
        guard !isClosed else { return .refuse(Self.closed) }
        guard last || jobs.count < JournalLimits.waitingWrites else { return .refuse(Self.full) }
        jobs.append(job)
        isClosed = last
        defer { isCommitting = true }
        return isCommitting ? .wait : .begin
    }

    /// The next commit's jobs; nil: none wait, and the next job begins anew.
    package mutating func nextGroup() -> [Job]? {
        guard !jobs.isEmpty else {
            isCommitting = false
            return nil
        }
        if jobs.count == 1, let job = jobs.popFirst() { return [job] }  // mostly
        let group = Array(jobs.prefix(JournalLimits.writesPerCommit))
        jobs.removeFirst(group.count)
        return group
    }

    package static var closed: RepriseError { RepriseError(.closed, "The journal is closed.") }

    private static var full: RepriseError {
        RepriseError(
            .full, "Too many writes wait for the disk.",
            remedy: "Wait for earlier calls to return before making more.")
    }
}
