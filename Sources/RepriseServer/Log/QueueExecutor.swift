import Dispatch

/// Runs tasks on a dispatch queue.
///
/// A task that waits for work of that queue goes on where it was done: no thread is woken in
/// between.
final class QueueExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
