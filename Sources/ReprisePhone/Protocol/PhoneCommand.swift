public import RepriseCore

/// A command to a running phone: a line of JSON on its socket.
///
/// An `app` that is nil is the only installed one.
public enum PhoneCommand: Hashable, Sendable, Codable {
    /// How everything is; answered with ``PhoneAnswer/status(_:)``.
    case status
    /// Installs an app, or replaces its program: an update, which ends a running process and keeps
    /// the system's data.
    case install(PhoneAppSpec)
    /// Takes an app away with all that the system holds for it.
    case uninstall(app: String?)
    /// The user opens the app: a new process, or the existing one enters the foreground.
    case launch(app: String?)
    /// The user does something with a notification in the notification centre; nil is the newest
    /// one.
    case tap(app: String?, notification: String?, action: NotificationResponse.Action)
    /// The user goes to the home screen: the app in the foreground enters the background.
    case home
    /// The system terminates the app (SIGKILL).
    case kill(app: String?)
    /// The user force-quits the app: no background launch until it is opened again.
    case forceQuit(app: String?)
    /// The system suspends the app at once, whatever time it has left (SIGSTOP).
    case suspend(app: String?)
    /// The system lets a suspended app run again, where it was (SIGCONT).
    case resume(app: String?)
    /// Memory is short: running apps are notified, suspended ones are terminated.
    case memoryPressure
    /// The network is off.
    case offline
    /// The network is on.
    case online
    /// The network is slow.
    case slow(latencyMilliseconds: Int, bytesPerSecond: Int?)
    /// The phone is plugged in, or not.
    case power(isPluggedIn: Bool)
    /// Low Power Mode is on, or off.
    case lowPower(Bool)
    /// A Focus is on, which lets no ordinary notification interrupt, or off.
    case focus(Bool)
    /// The device restarts and waits for its first unlock: apps end, and their protected files
    /// cannot be read until then.
    case restart
    /// The user unlocks the device for the first time since its start.
    case unlock
    /// The network is paid for by volume, or not.
    case metered(Bool)
    /// The free bytes of the disk; nil: those of the machine's disk.
    case storage(bytes: Int64?)
    /// Time passes at once, on the calendar and on the clock that never jumps.
    case advance(milliseconds: Int64)
    /// The calendar alone is set forwards or backwards.
    case setCalendar(byMilliseconds: Int64)
    /// The device is in another time zone (`Europe/Berlin`).
    case zone(String)
    /// The user's answer to the permission prompt, or a change in Settings.
    case permission(app: String?, NotificationSettings)
    /// The answer to the next permission prompt.
    case answerPermission(app: String?, allowed: Bool)
    /// A remote push arrives for the app: a payload (a JSON object) and headers as APNs takes them.
    case push(app: String?, payload: String, headers: [String: String])
    /// The system runs a task that the app has asked for.
    case runBackground(app: String?, task: String)
    /// The system takes back the time of all that runs in the background for this app.
    case expireBackground(app: String?)
    /// The process of the app's web views dies.
    case crashWebView(app: String?)
    /// Follows other rules where Apple's documentation leaves something open.
    case rules(PhoneRules)
    /// Events after this number, at most 1,000; waits for the first as long as given (at most 30
    /// s).
    case log(since: Int, waitMilliseconds: Int)
    /// Ends all apps and the phone. Its state stays.
    case shutdown
}

/// A command with the number that its answer carries; several may be under way.
public struct PhoneRequest: Hashable, Sendable, Codable {
    /// The asker's number.
    public var id: Int
    /// The command.
    public var command: PhoneCommand
}
