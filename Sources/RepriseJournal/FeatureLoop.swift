package import RepriseCore
import Synchronization

/// The loop of a feature that runs: takes one event after the other, in one run at a time.
///
/// A run ends with its task, by ``stop()``, with the journal's ownership, or at its first failure,
/// which it throws.
///
/// ```swift
/// try await loop.run(on: self) {
///     await perform(machine.started())
/// } take: { event in
///     await perform(machine.take(event))
/// } finish: {
///     for event in loop.mailbox.close() { giveBack(event) }
/// }
/// ```
package final class FeatureLoop<Event: Sendable>: Sendable {
    private struct State {
        var isRunning = false
        var isStopped = false
        var failure: RepriseError?
        var task: Task<Void, Never>?
        var stopping: [CheckedContinuation<Void, Never>] = []
    }

    /// Open from the start of a run; `finish` closes it.
    package let mailbox: Mailbox<Event>

    private let name: String
    private let journal: Journal
    private let state = Mutex(State())

    /// - Parameters:
    ///   - name: for people, as `The forms`.
    ///   - journal: a run ends with its ownership.
    ///   - mailbox: the events.
    package init(_ name: String, _ journal: Journal, _ mailbox: Mailbox<Event> = Mailbox()) {
        self.name = name
        self.journal = journal
        self.mailbox = mailbox
    }

    /// Why the run ends; nil: it has not failed.
    package var failure: RepriseError? { state.withLock { $0.failure } }

    /// Runs on an actor, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - actor: runs the closures.
    ///   - start: called first.
    ///   - take: takes one event.
    ///   - finish: called last, and not cancelled with the task.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if it runs already; the failure.
    ///   Cancellation is no error.
    package func run(
        on actor: isolated any Actor, start: @escaping @Sendable () async throws -> Void,
        take: @escaping @Sendable (Event) async throws -> Void,
        finish: @escaping @Sendable () async -> Void
    ) async throws {
        try begin()
        let watch = Task { [weak self, journal] in
            do { try await journal.ended() } catch { self?.fail(error) }
        }
        let task = Task {
            _ = actor
            do {
                try await start()
                while failure == nil, let event = await mailbox.next() { try await take(event) }
            } catch {
                fail(error)
            }
        }
        let isStopped = state.withLock { state in
            state.task = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        watch.cancel()
        await Task {
            _ = actor
            await finish()
        }.value
        if let failure = end() { throw failure }
    }

    private func begin() throws {
        try state.withLock { state in
            guard !state.isRunning else {
                throw RepriseError(
                    .badConfiguration, "\(name) are running already.",
                    remedy: "Call run once, and again when it has returned.")
            }
            state = State(isRunning: true)
        }
        mailbox.open()
    }

    private func end() -> RepriseError? {
        let (failure, stopping) = state.withLock { state in
            defer { state = State() }
            return (state.failure, state.stopping)
        }
        for continuation in stopping { continuation.resume() }
        return failure
    }

    /// Ends the run; the first failure is kept.
    package func fail(_ error: any Error) {
        guard !(error is CancellationError) else { return }
        state.withLock { state in
            guard state.isRunning, state.failure == nil else { return }
            state.failure = error as? RepriseError ?? RepriseError(.internal, "\(error)")
        }
        mailbox.end()
    }

    /// Ends the run if the error says that the journal can no longer be written; others are the
    /// caller's.
    package func note(_ error: any Error) { if error.isEndOfJournal { fail(error) } }

    /// Ends the run, and returns when it has ended.
    package func stop() async {
        await withCheckedContinuation { continuation in
            let (isRunning, task) = state.withLock { state in
                state.isStopped = true
                if state.isRunning { state.stopping.append(continuation) }
                return (state.isRunning, state.task)
            }
            task?.cancel()
            if !isRunning { continuation.resume() }
        }
    }
}
