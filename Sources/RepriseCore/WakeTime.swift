/// The time for which the system has woken an app: for a push, a person's answer to a notification,
/// or ended transfers.
///
/// The system ends an app that says too late that it is done, and wakes it less often from then on.
/// So it is counted from the system's call, over everything that the app does then.
package struct WakeTime: Sendable {
    /// Less than the half minute that the system gives, without a number to rely on.
    package static let limit = Duration.seconds(25)
    /// The last part of it, for closing what was opened.
    package static let closing = Duration.seconds(1)

    private let end: Duration
    private let clock: any Timekeeper

    /// Begins now.
    package init(_ limit: Duration = WakeTime.limit, by clock: any Timekeeper = SystemTimekeeper())
    {
        self.clock = clock
        end = clock.uptime() + limit
    }

    /// How long the work may still wait for something.
    package var rest: Duration { max(end - Self.closing - clock.uptime(), .zero) }

    /// Does the work, and returns when it is done, or at the end of the time: then it goes on
    /// without being waited for.
    package func run(_ work: @escaping @Sendable () async -> Void) async {
        let over = Race<Void>()
        let task = Task {
            await work()
            over.end(.success(()))
        }
        let timer = Task { [clock, end] in
            try await clock.sleep(until: end)
            over.end(.success(()))
        }
        _ = try? await withTaskCancellationHandler {
            try await over.value()
        } onCancel: {
            task.cancel()
        }
        timer.cancel()
    }
}
