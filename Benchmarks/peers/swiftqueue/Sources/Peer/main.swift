import Foundation
import SwiftQueue

/// Jobs that do nothing, in SwiftQueue's own store, eight at a time: what each costs when there are
/// so many.
final class Trivial: Job {
    func onRun(callback: any JobResult) { callback.done(.success) }
    func onRetry(error: any Error) -> RetryConstraint { .cancel }
    func onRemove(result: JobCompletion) { left.signal() }
}

struct Creator: JobCreator {
    func create(type: String, params: [String: Any]?) -> any Job { Trivial() }
}

struct Eight: Queue {
    let name: String
    let maxConcurrent = 8
}

struct Queues: QueueCreator {
    func create(queueName: String) -> any Queue { Eight(name: queueName) }
}

/// The store that it comes with, written to the disk after each change if that is asked for.
final class Store: JobPersister {
    private let inner = UserDefaultsPersister(key: "bench-\(UUID().uuidString)")
    private let isWritten: Bool
    private let lock = NSLock()

    init(isWritten: Bool) { self.isWritten = isWritten }

    private func change(_ body: () -> Void) {
        // Its own has no lock: jobs that end at once would lose each other's changes.
        lock.withLock {
            body()
            if isWritten { UserDefaults.standard.synchronize() }
        }
    }

    func restore() -> [String] { inner.restore() }
    func restore(queueName: String) -> [String] { inner.restore(queueName: queueName) }
    func put(queueName: String, taskId: String, data: String) {
        change { inner.put(queueName: queueName, taskId: taskId, data: data) }
    }
    func remove(queueName: String, taskId: String) {
        change { inner.remove(queueName: queueName, taskId: taskId) }
    }
    func clearAll() { change { inner.clearAll() } }
}

let left = DispatchSemaphore(value: 0)
setvbuf(stdout, nil, _IOLBF, 0)

for isWritten in [false, true] {
    for count in [100, 200, 400] {
        let store = Store(isWritten: isWritten)
        let manager = SwiftQueueManagerBuilder(creator: Creator(), queueCreator: Queues())
            .set(persister: store).set(isSuspended: true).build()
        let start = DispatchTime.now().uptimeNanoseconds
        for _ in 0..<count {
            JobBuilder(type: "trivial").parallel(queueName: "jobs").persist()
                .schedule(manager: manager)
        }
        manager.isSuspended = false
        for _ in 0..<count { left.wait() }
        let taken = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e6
        store.clearAll()
        let how = isWritten ? "written at each change" : "in memory alone"
        let each = String(format: "%.1f", taken / Double(count))
        print("\(count) jobs, \(how): \(each) ms a job")
    }
}
