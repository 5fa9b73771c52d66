public import RepriseCore

/// What can arrive now, how it is shown, until when, and what the next chance is for what cannot.
///
/// ```swift
/// let now = await notices.availability
/// if now.ways == [.opening] { print("Nothing arrives before the app is opened.") }
/// let later = await notices.availability(in: .suspended)
/// ```
///
/// A suspended or ended app runs no code: what it cannot ask then, it can ask before.
public struct NoticeAvailability: Hashable, Sendable {
    /// What the system does with the app.
    public enum AppState: String, Hashable, Sendable, CaseIterable {
        /// A person sees it.
        case foreground
        /// It is not seen, and runs in time that the system has granted.
        case background
        /// It is there, and runs no code.
        case suspended
        /// The system has ended it.
        case terminated
        /// A person has thrown it out. It cannot be told from `terminated` by the app.
        case forceQuit
    }

    /// By what something about a message reaches the person.
    public enum Way: String, Hashable, Sendable, CaseIterable {
        /// The socket, at once.
        case socket
        /// A push, which the system shows.
        case push
        /// Time in the background, which the system gives when it likes: the app catches up.
        case refresh
        /// The person opens the app: it catches up.
        case opening
    }

    /// Who decides what is shown.
    public enum Decider: String, Hashable, Sendable, CaseIterable {
        /// The app, which knows everything.
        case app
        /// The service extension, by what the app has left.
        case `extension`
        /// Nobody: nothing is shown.
        case nobody
    }

    /// What the app's state was taken for.
    public let state: AppState
    /// What brings a message, the quickest first; never empty.
    public let ways: [Way]
    /// Who decides.
    public let decider: Decider
    /// How the quickest of them can be shown at most; empty: not at all.
    public let presentation: PresentationOptions
    /// Whether another device's reading takes a banner away here before the app is opened; a push
    /// for that is the system's to delay or drop.
    public let removal: Way
    /// Until when this holds; nil: until the app's state changes.
    public let until: WallTime?

    /// All that it depends on.
    public struct Situation: Hashable, Sendable {
        /// What the system does with the app.
        public var state: AppState
        /// What the person allows.
        public var settings: NotificationSettings
        /// Whether the server is to push to this device.
        public var isPushRegistered: Bool
        /// Whether there is a connection to the server.
        public var isConnected: Bool
        /// Until when the app may run in the background.
        public var backgroundUntil: WallTime?

        /// Describes a situation.
        ///
        /// - Parameters:
        ///   - state: what the system does with the app.
        ///   - settings: what the person allows.
        ///   - isPushRegistered: whether the server is to push to this device.
        ///   - isConnected: whether there is a connection to the server.
        ///   - backgroundUntil: until when the app may run in the background.
        public init(
            state: AppState, settings: NotificationSettings, isPushRegistered: Bool,
            isConnected: Bool, backgroundUntil: WallTime? = nil
        ) {
            self.state = state
            self.settings = settings
            self.isPushRegistered = isPushRegistered
            self.isConnected = isConnected
            self.backgroundUntil = backgroundUntil
        }
    }
}

extension NoticeAvailability {
    /// What can arrive.
    ///
    /// It asks nothing and remembers nothing; `docs/notices/availability.md` has it as a table,
    /// which a test compares with this.
    ///
    /// - Parameter situation: all that it depends on.
    /// - Returns: what can arrive, and how it is shown.
    public static func of(_ situation: Situation) -> NoticeAvailability {
        let runs = situation.state == .foreground || situation.state == .background
        let isLive = runs && situation.isConnected
        // Without permission the system drops an alert, and with it what it would have said.
        let isPushed = situation.isPushRegistered && situation.settings.isAllowed
        var ways: [Way] = []
        if isLive { ways.append(.socket) }
        if isPushed { ways.append(.push) }
        if situation.state != .foreground && situation.state != .forceQuit { ways.append(.refresh) }
        ways.append(.opening)
        let decider: Decider =
            if isLive || situation.state == .foreground { .app } else if isPushed {
                .extension
            } else {
                .nobody
            }
        return NoticeAvailability(
            state: situation.state, ways: ways, decider: decider,
            presentation: isLive || isPushed ? situation.settings.most : [],
            removal: isLive ? .socket : removal(situation),
            until: situation.state == .background ? situation.backgroundUntil : nil)
    }

    private static func removal(_ situation: Situation) -> Way {
        // A background push needs no permission, and does not reach what a person has thrown out.
        situation.isPushRegistered && situation.state != .forceQuit ? .push : .opening
    }
}

extension NotificationSettings {
    fileprivate var isAllowed: Bool {
        switch authorization {
        case .authorized, .provisional: true
        case .notDetermined, .denied: false
        }
    }

    /// The most that a notification may be.
    fileprivate var most: PresentationOptions {
        guard isAllowed else { return [] }
        var most: PresentationOptions = []
        if alerts { most.formUnion(authorization == .authorized ? [.banner, .list] : [.list]) }
        if sounds, authorization == .authorized { most.insert(.sound) }
        if badges { most.insert(.badge) }
        return most
    }
}
