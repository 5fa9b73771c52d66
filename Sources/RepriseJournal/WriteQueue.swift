package import RepriseCore

/// Decides what is committed together: whatever waits while one commit is on its way to the disk
/// shares the next one.
package struct WriteQueue<Job> {
    package enum Verdict {
        /// Begin to commit: take one group after the other, until there is none.
        case begin
        /// A commit is under way; what waits comes after it.
        case wait
        case refuse(RepriseError)
    }

    private var jobs: [Job] = []
    private var isCommitting = false
    private var isClosed = false

    package init() {}

    /// How many wait.
    package var count: Int { jobs.count }

    /// Behind the `last` one nothing is taken any more.
    package mutating func add(_ job: Job, last: Bool = false) -> Verdict {
        guard !isClosed else { return .refuse(Self.closed) }
        guard last || jobs.count < JournalLimits.waitingWrites else { return .refuse(Self.full) }
        jobs.append(job)
        isClosed = last
        defer { isCommitting = true }
        return isCommitting ? .wait : .begin
    }

    /// What the next commit is made of; nil: nothing waits, and the next job begins anew.
    package mutating func nextGroup() -> [Job]? {
        guard !jobs.isEmpty else {
            isCommitting = false
            return nil
        }
        guard jobs.count > JournalLimits.writesPerCommit else {
            // Nearly always: all of them, and nothing is moved.
            defer { jobs = [] }
            return jobs
        }
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
