import Foundation
import RepriseCore
import Synchronization

/// The phone's clocks in an app's process: the machine's, moved by the phone.
final class PhoneTimekeeper: Timekeeper {
    private let machine = SystemTimekeeper()
    private let clock: Mutex<PhoneClock>
    /// Wakes sleeping tasks to read the clock again.
    private let changes = ConditionVariable()

    init(_ clock: PhoneClock) { self.clock = Mutex(clock) }

    var boot: String { machine.boot }

    func wall() -> WallTime {
        machine.wall().advanced(
            by: .milliseconds(clock.withLock { $0.calendarMilliseconds }))
    }

    func uptime() -> Duration {
        machine.uptime() + .milliseconds(clock.withLock { $0.uptimeMilliseconds })
    }

    /// The phone's time zone.
    var zone: TimeZone {
        TimeZone(identifier: clock.withLock { $0.zone }) ?? .gmt
    }

    func set(_ clock: PhoneClock) {
        self.clock.withLock { $0 = clock }
        changes.notifyAll()
    }

    func sleep(until moment: Duration) async throws {
        while true {
            try Task.checkCancellation()
            let known = clock.withLock { $0 }
            let left = moment - machine.uptime() - .milliseconds(known.uptimeMilliseconds)
            guard left > .zero else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Task.sleep(for: left) }
                group.addTask { [self] in
                    await changes.wait(isCancellable: true) { clock.withLock { $0 != known } }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}
