package import RepriseCore

/// The first line of every peer: its role.
///
/// ```json
/// {"control":{}}
/// {"app":{"token":"…"}}
/// ```
package enum PhoneGreeting: Hashable, Sendable, Codable {
    /// A person, a script, a test: sends ``PhoneRequest``, gets ``PhoneReply``.
    case control
    /// A process that the phone has launched, with the token of its environment: sends
    /// ``AppMessage``, gets ``PhoneMessage``.
    case app(token: String)
    /// A process of a service extension.
    case `extension`(token: String)
}

/// A message from a launched process.
package enum AppMessage: Hashable, Sendable, Codable {
    /// A call of the system; answered with the same number.
    case call(id: Int, AppCall)
    /// The handler of an order has returned.
    case returned(order: Int, options: PresentationOptions?)
    /// An observation for the phone's log, when it was made.
    case report(what: String, detail: String, microseconds: Int64)
}

/// An app's calls of the system, by the ports of RepriseCore.
package enum AppCall: Hashable, Sendable, Codable {
    case settings
    case requestAuthorization(provisional: Bool)
    case add(NotificationRequest)
    case pending
    case delivered
    case removePending([String])
    case removeDelivered([String])
    case setBadge(Int)
    case setCategories([NotificationCategory])
    case submit(BackgroundRequest)
    case cancel(String)
    case tasks
    /// Registers a launch handler for a background task.
    case register(String)
    case complete(slot: Int, success: Bool)
    case startTransfer(TransferRequest)
    case transfers
    case cancelTransfer(String)
    case forgetTransfer(String)
    /// The DevTools address of the phone's browser; started if none runs.
    case browser
}

/// The system's answer to an app.
package enum AppAnswer: Hashable, Sendable, Codable {
    case done
    case failed(PhoneFailure)
    case settings(NotificationSettings)
    case allowed(Bool)
    case pending([NotificationRequest])
    case delivered([DeliveredNotification])
    case tasks([BackgroundRequest])
    case transfers([Transfer])
    case browser(String)
}

/// The system's calls of an app, each acknowledged when its handler has returned.
package enum AppOrder: Hashable, Sendable, Codable {
    case foreground
    /// With `backgroundTimeRemaining`, in seconds.
    case background(remaining: Double)
    /// The time in the background is nearly over: the expiration handler of the background task.
    case backgroundExpires
    case memoryPressure
    /// Through the delegate of the notification centre.
    case received(NotificationResponse)
    /// The same tap through a scene that connects after the delegate was called.
    case scene(NotificationResponse)
    case willPresent(DeliveredNotification)
    case push(info: [UInt8])
    case slot(number: Int, task: String, milliseconds: Int64)
    case slotExpired(Int)
    /// All transfers are done (`handleEventsForBackgroundURLSession`).
    case transfersDone
    /// The session has reported all events (`urlSessionDidFinishEvents`).
    case transferEventsEnded
    case crashWebView
    /// Never sent: stands for an order whose answer comes too late.
    case late
}

/// A message from the phone to a launched process.
package enum PhoneMessage: Hashable, Sendable, Codable {
    /// The first line: why it was launched, and where everything is.
    case welcome(AppWelcome)
    case answer(id: Int, AppAnswer)
    case order(id: Int, AppOrder)
    case clock(PhoneClock)
    case network(PhoneNetwork)
    case device(PhoneDevice)
    case transfer(Transfer)
}

/// The phone's reply to a process's greeting.
package struct AppWelcome: Hashable, Sendable, Codable {
    package var app: String
    package var launch: PhoneLaunch
    package var folder: String
    package var clock: PhoneClock
    package var network: PhoneNetwork
    package var device: PhoneDevice
    package var rules: PhoneRules
}

/// How the phone's clocks differ from the machine's.
package struct PhoneClock: Hashable, Sendable, Codable {
    /// Added to the machine's calendar.
    package var calendarMilliseconds: Int64 = 0
    /// Added to the machine's clock that never jumps.
    package var uptimeMilliseconds: Int64 = 0
    package var zone = "UTC"
}
