/// The phone's limits and constants.
///
/// `docs/limits/phone.md` has a row for each.
package enum PhoneLimits {
    /// Local notifications that wait, by Apple's rule.
    package static let pending = 64
    /// Requests to the background scheduler, by Apple's rule.
    package static let refreshTasks = 1
    package static let processingTasks = 10
    /// How long a task has, in milliseconds.
    package static let refreshMilliseconds: Int64 = 30_000
    package static let processingMilliseconds: Int64 = 300_000
    /// How long a task has after the notice that its time is over.
    package static let expiryMilliseconds: Int64 = 5_000
    /// How long before the end of its time in the background an app is told; half of less than
    /// twice as long.
    package static let backgroundWarningMilliseconds: Int64 = 3_000
    /// When a notification is removed after the app has asked for it.
    package static let removalMilliseconds: Int64 = 100
    /// Removals that wait for that; then they are performed at once.
    package static let removals = 256
    /// How long a service extension has, by Apple's rule.
    package static let extensionMilliseconds: Int64 = 30_000
    /// How long before the end it is warned.
    package static let extensionWarningMilliseconds: Int64 = 3_000
    /// How long an app in the foreground may think about a notification.
    package static let presentationMilliseconds: Int64 = 10_000
    /// An interval trigger that repeats waits at least so long, by Apple's rule.
    package static let repeatSeconds = 60.0

    package static let apps = 16
    /// Requests of a control connection in progress.
    package static let questions = 1_000
    /// From a process's start to its connection, unless the app's specification has its own.
    package static let launchMilliseconds: Int64 = 20_000
    /// The events of a page of the log, and how long one may be waited for.
    package static let pageEvents = 1_000
    package static let pageMilliseconds = 30_000
    /// Delivered notifications of one app; older ones are removed.
    package static let delivered = 256
    /// Unacknowledged orders of one app; beyond, it counts as hung and is terminated.
    package static let orders = 1_024
    /// The title, the texts and the info of a notification, together.
    package static let contentBytes = 16_384
    package static let categories = 128
    /// Service extensions at work at the same time; beyond it a push is shown as it came.
    package static let extensions = 8
    /// The most events in one step of time; the rest comes with the next.
    package static let dueAtOnce = 10_000
    /// Transfers of one app that it has not forgotten.
    package static let transfers = 256
    /// Transfers that run at the same time, of all apps.
    package static let transfersAtOnce = 8
    /// How long the system tries, by Apple's default (`timeoutIntervalForResource`: 7 days).
    package static let transferMilliseconds: Int64 = 604_800_000
    /// Idle timeout, by Apple's default (`timeoutIntervalForRequest`: 60 seconds).
    package static let transferTimeoutMilliseconds: Int64 = 60_000
    /// Up to which the pause before another attempt doubles.
    package static let transferRetryLimitMilliseconds: Int64 = 300_000
    package static let transferRedirects = 20
    /// The content of one transfer.
    package static let transferBytes: Int64 = 8_589_934_592
    /// When an app is told of a transfer's end after it has cancelled it.
    package static let cancellationMilliseconds: Int64 = 100
    /// How often an app hears of the progress of one transfer.
    package static let transferProgressMilliseconds: Int64 = 100
    package static let events = 10_000
    package static let detailBytes = 4_096
}
