/// Behaviours that Apple's documentation leaves open, and the user's choice of a calendar:
/// `docs/phone.md` has a row for each, and tests run each value.
///
/// Each rule is named after the question, each value after its answer. The default is the value
/// that is documented for a neighbouring case or reported most; it may be wrong.
///
/// ```swift
/// var rules = PhoneRules()
/// rules.beyondPendingLimit = .latestAddedKept
/// ```
public struct PhoneRules: Hashable, Sendable, Codable {
    /// Which of more than 64 pending local notifications are kept.
    public enum BeyondPendingLimit: String, PhoneRuleValue {
        /// Those that fire soonest.
        case soonestKept
        /// Those that were added last.
        case latestAddedKept
    }

    /// Whether something is kept across a restart of the device.
    public enum AcrossRestart: String, PhoneRuleValue {
        /// It is kept.
        case kept
        /// It is lost.
        case cleared
    }

    /// A local notification that comes due while the device is off.
    public enum DueWhileOff: String, PhoneRuleValue {
        /// Shown when the device starts.
        case shownAtStart
        /// Never shown.
        case skipped
    }

    /// The base of a time-interval trigger when the calendar is set.
    public enum IntervalTriggers: String, PhoneRuleValue {
        /// Time that passes: they fire when they would have fired.
        case countElapsedTime
        /// The calendar: they move with it.
        case followCalendar
    }

    /// A calendar trigger whose time is skipped by setting the calendar forwards.
    public enum PassedOverTriggers: String, PhoneRuleValue {
        /// It fires at once.
        case fire
        /// Not fired: a repeating one waits for its next time, another is removed.
        case skipped
    }

    /// The callbacks that get a tap that connects the app's scene.
    public enum LaunchingTap: String, PhoneRuleValue {
        /// `didReceive` of the notification centre's delegate alone.
        case delegateAlone
        /// The scene's connection options, then the delegate.
        case sceneThenDelegate
        /// The delegate, then the scene's connection options.
        case delegateThenScene
        /// The scene's connection options alone.
        case sceneAlone
    }

    /// A response whose completion handler was not called before the process died.
    public enum UncompletedResponse: String, PhoneRuleValue {
        /// It is not delivered again.
        case forgotten
        /// It is delivered again at the next launch.
        case repeated
    }

    /// A notification whose `willPresent` the app in the foreground does not answer.
    public enum UnansweredPresentation: String, PhoneRuleValue {
        /// Not shown at all.
        case notShown
        /// In the notification centre, without a banner.
        case listed
    }

    /// Whether a force-quit app may be launched in the background again after a restart of the
    /// device.
    public enum ForceQuitAcrossRestart: String, PhoneRuleValue {
        /// Yes, as the documentation of `didReceiveRemoteNotification` says.
        case lifted
        /// Only once the user has opened it, as some report.
        case stays
    }

    /// Whether a force-quit app gets time for a processing task.
    public enum ProcessingAfterForceQuit: String, PhoneRuleValue {
        /// Not before the user has opened it.
        case doesNotRun
        /// Yes, as an Apple engineer says of newer systems.
        case runs
    }

    /// Whether the service extension of a force-quit app runs.
    public enum ExtensionOfForceQuitApp: String, PhoneRuleValue {
        /// It runs.
        case runs
        /// It does not; the original content is shown.
        case doesNotRun
    }

    /// Whether an app launched in the background gets the callback for entering it.
    public enum BackgroundLaunch: String, PhoneRuleValue {
        /// No: nothing has changed since its launch.
        case untold
        /// Yes, like one that was in the foreground before.
        case told
    }

    /// An app that exceeds its background time.
    public enum BackgroundOverrun: String, PhoneRuleValue {
        /// It is terminated.
        case terminated
        /// It is suspended in the middle of its work.
        case suspended
    }

    /// Which push is kept for an app while the device is offline.
    public enum StoredPush: String, PhoneRuleValue {
        /// The newest, as in most cases.
        case newest
        /// The first, which the documentation does not rule out.
        case first
    }

    /// Whether silent pushes to an app in the foreground count towards the budget.
    public enum SilentInForeground: String, PhoneRuleValue {
        /// They are free.
        case free
        /// They count.
        case counted
    }

    /// A held background push when the budget has room again.
    public enum HeldPush: String, PhoneRuleValue {
        /// It is delivered to the app.
        case dispatched = "handedOver"
        /// It waits until the user opens the app.
        case waitsForOpening
    }

    /// Whether an alert that also wakes the app counts towards the budget of background pushes.
    public enum AlertsThatWake: String, PhoneRuleValue {
        /// It does not count.
        case free
        /// It counts.
        case counted
    }

    /// The effect of a zero badge on delivered notifications.
    public enum ZeroBadge: String, PhoneRuleValue {
        /// It takes the app's notifications away.
        case removesDelivered
        /// It leaves them.
        case leavesDelivered
    }

    /// A tapped notification in the notification centre.
    public enum TappedNotification: String, PhoneRuleValue {
        /// It leaves.
        case leaves
        /// It stays until it is removed.
        case stays
    }

    /// The system's data of an app that is removed and installed again.
    public enum RemovedApp: String, PhoneRuleValue {
        /// All is forgotten.
        case forgotten
        /// The badge that it had.
        case badgeKept
    }

    /// A transfer whose connection fails or breaks.
    public enum LostTransfer: String, PhoneRuleValue {
        /// The system tries again, until its time is over.
        case retried
        /// It has failed, and the app is notified.
        case failed
    }

    /// The partial file of a download at its next attempt.
    public enum InterruptedDownload: String, PhoneRuleValue {
        /// The rest is requested, where the server supports that.
        case continued
        /// It begins anew.
        case startedAnew
    }

    /// When a transfer runs that was started in the background, and so is the system's to time.
    public enum DiscretionaryTransfers: String, PhoneRuleValue {
        /// At once.
        case atOnce
        /// While the device is plugged in and the network is not metered.
        case whenPluggedInAndUnmetered
    }

    /// A running task whose power or network is lost.
    public enum TaskConditionLost: String, PhoneRuleValue {
        /// It runs on for its time.
        case goesOn
        /// It is notified that its time is over.
        case expires
    }

    /// A WebSocket whose TCP connection ends without a close frame.
    public enum BrokenSocket: String, PhoneRuleValue {
        /// The handler of `receive` fails, and the task completes.
        case receiveFails
        /// The task completes; the handler of `receive` is never called.
        case receiveUncalled
    }

    /// The order in which the end of a WebSocket is reported after the peer's close frame.
    public enum ClosedSocket: String, PhoneRuleValue {
        /// The close code, then the failure of `receive`.
        case codeFirst
        /// The failure of `receive`; a moment later the task completes with the code.
        case failureFirst
    }

    /// What `backgroundTimeRemaining` says when the app has just entered the background.
    public enum BackgroundTimeOnEntry: String, PhoneRuleValue {
        /// The time that it has.
        case named
        /// 1.8e308, whatever time it has.
        case unlimited
    }

    /// A download that has come to its end.
    public enum FinishedDownload: String, PhoneRuleValue {
        /// The app's adapter has moved the file to its place.
        case kept
        /// The file is there and cannot be moved.
        case unmovable
        /// The system's file is not there.
        case missing
    }

    /// The end of a background session's events beside the app delegate's handler for them.
    public enum TransferEventsEnd: String, PhoneRuleValue {
        /// The handler comes, then the end.
        case afterHandler
        /// The end comes, then the handler.
        case beforeHandler
        /// The handler comes; the end does not.
        case never
    }

    /// Whether an app is launched in the background before the first unlock since the device
    /// started.
    public enum LaunchBeforeUnlock: String, PhoneRuleValue {
        /// Yes; its protected files cannot be read.
        case launched
        /// No.
        case notLaunched
    }

    /// Whether the service extension runs before the first unlock since the device started.
    public enum ExtensionBeforeUnlock: String, PhoneRuleValue {
        /// It runs; protected files cannot be read.
        case runs
        /// It does not; the original content is shown.
        case doesNotRun
    }

    /// The app's key window, when a scene becomes active.
    public enum KeyWindow: String, PhoneRuleValue {
        /// It is there.
        case atActivation
        /// The window becomes key later.
        case afterActivation
    }

    /// A communication notification in a Focus.
    public enum CommunicationInFocus: String, PhoneRuleValue {
        /// In the list, without a banner.
        case listed
        /// A banner: it breaks through.
        case breaksThrough
    }

    /// The calendar that the user has set, for a calendar trigger that names none.
    public enum DeviceCalendar: String, PhoneRuleValue {
        /// The years of most countries.
        case gregorian
        /// The default in Thailand: 543 years ahead.
        case buddhist
        /// Years of the emperor's era.
        case japanese
    }

    /// Beyond 64 pending local notifications.
    public var beyondPendingLimit = BeyondPendingLimit.soonestKept
    /// Pending local notifications, when the device is restarted.
    public var pendingAcrossRestart = AcrossRestart.kept
    /// Notifications in the notification centre, when the device is restarted.
    public var deliveredAcrossRestart = AcrossRestart.kept
    /// Requests to the background scheduler, when the device is restarted.
    public var tasksAcrossRestart = AcrossRestart.kept
    /// Transfers that were not done when the device was restarted.
    public var transfersAcrossRestart = AcrossRestart.kept
    /// A transfer whose connection is not made, or breaks.
    public var lostTransfer = LostTransfer.retried
    /// The next attempt at a partial download.
    public var interruptedDownload = InterruptedDownload.continued
    /// A transfer that was started in the background.
    public var discretionaryTransfers = DiscretionaryTransfers.atOnce
    /// A task whose power or network is lost.
    public var taskConditionLost = TaskConditionLost.goesOn
    /// Local notifications that come due while the device is off.
    public var dueWhileOff = DueWhileOff.shownAtStart
    /// Time-interval triggers, when the calendar is set.
    public var intervalTriggers = IntervalTriggers.countElapsedTime
    /// Calendar triggers whose time is passed over.
    public var passedOverTriggers = PassedOverTriggers.fire
    /// A tap that launches the app.
    public var launchingTap = LaunchingTap.delegateAlone
    /// A response that was not completed.
    public var uncompletedResponse = UncompletedResponse.forgotten
    /// A `willPresent` that is not answered.
    public var unansweredPresentation = UnansweredPresentation.notShown
    /// A force-quit app, when the device is restarted.
    public var forceQuitAcrossRestart = ForceQuitAcrossRestart.lifted
    /// A processing task of a force-quit app.
    public var processingAfterForceQuit = ProcessingAfterForceQuit.doesNotRun
    /// The service extension of a force-quit app.
    public var extensionOfForceQuitApp = ExtensionOfForceQuitApp.runs
    /// An app that is launched in the background.
    public var backgroundLaunch = BackgroundLaunch.untold
    /// An app that exceeds its background time.
    public var backgroundOverrun = BackgroundOverrun.terminated
    /// Several pushes for an app while the device is offline.
    public var storedPush = StoredPush.newest
    /// Silent pushes to an app in the foreground.
    public var silentInForeground = SilentInForeground.free
    /// A held background push, when the budget has room again.
    public var heldPush = HeldPush.dispatched
    /// Alerts that also wake the app.
    public var alertsThatWake = AlertsThatWake.free
    /// A badge of zero.
    public var zeroBadge = ZeroBadge.removesDelivered
    /// A notification that was tapped.
    public var tappedNotification = TappedNotification.leaves
    /// A WebSocket whose TCP connection breaks.
    public var brokenSocket = BrokenSocket.receiveFails
    /// A WebSocket that the peer has closed.
    public var closedSocket = ClosedSocket.codeFirst
    /// The time that an app is told of when it enters the background.
    public var backgroundTimeOnEntry = BackgroundTimeOnEntry.named
    /// A download that has come to its end.
    public var finishedDownload = FinishedDownload.kept
    /// The end of the events of transfers.
    public var transferEventsEnd = TransferEventsEnd.afterHandler
    /// A launch in the background before the first unlock.
    public var launchBeforeUnlock = LaunchBeforeUnlock.launched
    /// The service extension before the first unlock.
    public var extensionBeforeUnlock = ExtensionBeforeUnlock.runs
    /// The key window of an app that becomes active.
    public var keyWindow = KeyWindow.atActivation
    /// A notification that names whose message it is, in a Focus.
    public var communicationInFocus = CommunicationInFocus.listed
    /// A calendar trigger that names no calendar.
    public var deviceCalendar = DeviceCalendar.gregorian
    /// A removed app that is installed again.
    public var removedApp = RemovedApp.forgotten
    /// The pause before a transfer is tried again, in seconds; it doubles with each attempt, up to
    /// five minutes.
    public var transferRetrySeconds = 1
    /// How long an app runs in the background, in seconds; the documentation names no number to
    /// rely on.
    public var backgroundSeconds = 30
    /// How many silent pushes an app gets within an hour; the documentation advises two or three.
    public var silentPushesPerHour = 3

    /// The default rules.
    public init() {}
}

/// One answer to a question that the documentation leaves open.
public protocol PhoneRuleValue: RawRepresentable<String>, CaseIterable, Hashable, Sendable, Codable
{}
