public import RepriseCore

/// Something that happened on a phone, or that an app reported.
public struct PhoneEvent: Hashable, Sendable, Codable {
    /// 1, 2, 3 …, without a gap.
    public var number: Int
    /// The phone's calendar.
    public var at: WallTime
    /// Microseconds on the clock that never jumps (but can be advanced): for durations between
    /// events.
    public var microseconds: Int64
    /// The app concerned.
    public var app: String?
    /// The event: a word of ``What``, or the app's own with `app.` before it.
    public var what: String
    /// The rest, for people and for comparison; at most 4,096 bytes.
    public var detail: String

    /// Makes an event, as the phone or a test does.
    public init(
        number: Int, at: WallTime, microseconds: Int64, app: String?, what: String, detail: String
    ) {
        self.number = number
        self.at = at
        self.microseconds = microseconds
        self.app = app
        self.what = what
        self.detail = detail
    }
}

extension PhoneEvent {
    /// The phone's own events.
    ///
    /// Those of an app begin with `app.`.
    public enum What: String, Sendable, CaseIterable {
        /// The phone was started; the detail is the reason.
        case started
        /// The phone ends.
        case ended
        /// An app was installed or replaced.
        case installed
        /// An app was taken away.
        case uninstalled
        /// A process was started; the detail is the reason.
        case launched
        /// A requested launch was not made; the detail is the reason.
        case notLaunched
        /// The process has connected; the detail is the reason of the launch.
        case connected
        /// It entered the foreground.
        case foreground
        /// It entered the background; the detail is its time in milliseconds.
        case background
        /// It was told that its time in the background is nearly over.
        case backgroundExpires
        /// It was suspended; the detail is the reason.
        case suspended
        /// It runs again.
        case resumed
        /// The system has terminated it; the detail is the reason.
        case terminated
        /// Its process has ended; the detail is how.
        case exited
        /// The user did something with a notification; the detail is its tap id.
        case tapped
        /// The app has returned from `received`: the completion handler is called; the detail is
        /// the tap id.
        case completed
        /// A notification was added to wait for its trigger.
        case pending
        /// A pending notification was dropped; the detail is the reason.
        case dropped
        /// A notification was delivered.
        case delivered
        /// A notification was shown as a banner.
        case banner
        /// The app in the foreground suppressed it, or did not answer.
        case notPresented
        /// A notification was taken out of the notification centre.
        case removed
        /// The number on the icon has changed.
        case badge
        /// The user was asked for permission, or has changed it.
        case permission
        /// A request to the background scheduler.
        case submitted
        /// A task has begun.
        case taskBegan
        /// A task was notified that its time is over.
        case taskExpired
        /// A task was completed; the detail is its id and `success` or `failure`.
        case taskCompleted
        /// A push has arrived; the detail is its text, `silent` or `badge`.
        case push
        /// A push is kept for later; the detail is the reason.
        case pushKept
        /// A push did not reach the app or the user; the detail is the reason.
        case pushDropped
        /// The app has returned from `receivedPush`.
        case pushCompleted
        /// An event of the service extension, in the detail.
        case `extension`
        /// An app has started a transfer; the detail is its id.
        case transferStarted
        /// The system begins an attempt; the detail is its id.
        case transferRuns
        /// A transfer waits; the detail is its id and why.
        case transferWaits
        /// A transfer is done; the detail is its id and `finished` with the status, `failed` with
        /// the reason, `cancelled` or `forgotten`.
        case transferEnded
        /// Memory is short.
        case memoryPressure
        /// The network has changed.
        case network
        /// Power, metering, Low Power Mode or free disk space has changed.
        case device
        /// A Focus was turned on or off.
        case focus
        /// The device waits for its first unlock.
        case locked
        /// The device was unlocked for the first time since its start.
        case unlocked
        /// The clock or the zone has changed.
        case clock
        /// The rules have changed.
        case rules
        /// The process of the web views was made to die.
        case webViewCrashed
        /// A peer said something that cannot be read or is not its to say.
        case nonsense
    }

    package init(
        _ what: What, app: String?, _ detail: String = "", at moment: PhoneMoment
    ) {
        self.init(
            number: 0, at: moment.wall, microseconds: moment.microseconds, app: app,
            what: what.rawValue, detail: detail)
    }
}

/// One moment on both clocks of a phone.
package struct PhoneMoment: Hashable, Sendable, Codable {
    /// The calendar.
    package var wall: WallTime
    /// The clock that never jumps, in microseconds.
    package var microseconds: Int64

    package init(wall: WallTime, microseconds: Int64) {
        self.wall = wall
        self.microseconds = microseconds
    }

    package func advanced(byMilliseconds milliseconds: Int64) -> PhoneMoment {
        PhoneMoment(
            wall: wall.advanced(by: .milliseconds(milliseconds)),
            microseconds: microseconds + milliseconds * 1_000)
    }
}
