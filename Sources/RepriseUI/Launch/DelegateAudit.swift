import Reprise

/// Finds what an app's own code has taken from the app's delegate: an override without `super`, or
/// another delegate of the notification centre.
///
/// Each finding is reported once.
package struct DelegateAudit {
    /// How long the system may take for a push token.
    package static let tokenTimeout = Duration.seconds(60)

    package enum Finding: Hashable {
        /// Launching has ended without ``RepriseAppDelegate``.
        case launchNotForwarded
        /// The notification centre tells somebody else; nil: nobody.
        case notificationsTaken(by: String?)
        /// The system's answer to the request for a push token has not come.
        case tokenNotForwarded
    }

    private var isLaunched = false
    private var isTokenAwaited = false
    private var reported: Set<Finding> = []

    /// Nothing is launched.
    package init() {}

    package mutating func launched() { isLaunched = true }

    /// The system says that launching has ended.
    package mutating func launchEnded() -> Finding? {
        isLaunched ? nil : report(.launchNotForwarded)
    }

    /// The app is active: what the notification centre's delegate is then.
    ///
    /// - Parameters:
    ///   - isOurs: whether it is the one that was set at the launch.
    ///   - name: its type; nil: there is none.
    /// - Returns: nil: nothing new.
    package mutating func notificationDelegate(isOurs: Bool, name: String?) -> Finding? {
        isOurs ? nil : report(.notificationsTaken(by: name))
    }

    package mutating func tokenRequested() { isTokenAwaited = true }
    package mutating func tokenAnswered() { isTokenAwaited = false }

    /// ``tokenTimeout`` after the request.
    package mutating func tokenTimerFired() -> Finding? {
        isTokenAwaited ? report(.tokenNotForwarded) : nil
    }

    private mutating func report(_ finding: Finding) -> Finding? {
        reported.insert(finding).inserted ? finding : nil
    }
}

extension DelegateAudit.Finding {
    /// What is wrong, and the line to write.
    package var error: RepriseError {
        switch self {
        case .launchNotForwarded:
            RepriseError(
                .badConfiguration,
                "Background tasks, and perhaps the tap that launched the app, "
                    + "are lost: the app's delegate overrides didFinishLaunching without super.",
                remedy: "Write return super.application(application, "
                    + "didFinishLaunchingWithOptions: options).")
        case .notificationsTaken(let name):
            RepriseError(
                .badConfiguration,
                "Taps are lost: the notification centre's delegate is \(name ?? "gone").",
                remedy: "Do not set it; or have it call client.received(response) and "
                    + "client.willPresent(notification), and override notificationDelegate.")
        case .tokenNotForwarded:
            RepriseError(
                .unavailable,
                "No push token has come: there is no network, or the app's delegate overrides "
                    + "didRegisterForRemoteNotificationsWithDeviceToken without super.",
                remedy: "Call super there, or client.registered(pushToken:).")
        }
    }
}
