public import RepriseCore

/// The messages that can arrive now, their presentation, until when, and the next chance for the
/// others.
///
/// ```swift
/// let now = await notices.availability
/// if now.ways == [.opening] { print("Nothing arrives before the app is opened.") }
/// let later = await notices.availability(in: .suspended)
/// ```
///
/// A suspended or ended app runs no code, so ask for that state before.
public struct NoticeAvailability: Hashable, Sendable {
    /// The app's process state.
    public enum AppState: String, Hashable, Sendable, CaseIterable {
        /// A person sees it.
        case foreground
        /// In the background, running in granted time.
        case background
        /// In memory, running no code.
        case suspended
        /// The system has ended it.
        case terminated
        /// Ended by the person. The app cannot tell it from `terminated`.
        case forceQuit
    }

    /// A way by which a message reaches the person.
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

    /// The component that decides the presentation.
    public enum Decider: String, Hashable, Sendable, CaseIterable {
        /// The app, which knows everything.
        case app
        /// The service extension, by the app's mirror.
        case `extension`
        /// None: nothing is shown.
        case nobody
    }

    /// The assumed app state.
    public let state: AppState
    /// The ways for a message, the quickest first; never empty.
    public let ways: [Way]
    /// The deciding component.
    public let decider: Decider
    /// The most prominent presentation of the quickest way; empty: none.
    public let presentation: PresentationOptions
    /// How a read on another device removes a banner here before the app is opened; the system may
    /// delay or drop a push for that.
    public let removal: Way
    /// Until when this holds; nil: until the app's state changes.
    public let until: WallTime?

    /// All that it depends on.
    public struct Situation: Hashable, Sendable {
        /// The app's process state.
        public var state: AppState
        /// The notification settings.
        public var settings: NotificationSettings
        /// Whether the device is registered for the server's pushes.
        public var isPushRegistered: Bool
        /// Whether the server is connected.
        public var isConnected: Bool
        /// Until when the app may run in the background.
        public var backgroundUntil: WallTime?

        /// Describes a situation.
        ///
        /// - Parameters:
        ///   - state: the app's process state.
        ///   - settings: the notification settings.
        ///   - isPushRegistered: whether the device is registered for the server's pushes.
        ///   - isConnected: whether the server is connected.
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
    /// Computes the availability.
    ///
    /// A pure function; `docs/notices/availability.md` has it as a table, which a test compares
    /// with this.
    ///
    /// - Parameter situation: all inputs.
    /// - Returns: what can arrive, and how it is shown.
    public static func of(_ situation: Situation) -> NoticeAvailability {
        let runs = situation.state == .foreground || situation.state == .background
        let isLive = runs && situation.isConnected
        // Without permission the system drops an alert with all of its content.
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
        // A background push needs no permission, and does not reach a force-quit app.
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

extension NoticeAvailability {
    /// The rows of `docs/notices/availability.md`: each state, with and without pushes, for each
    /// permission.
    package static var table: [String] {
        var rows = [
            "| the app is | pushes | what brings a message, quickest first | decided by | allowed | quietly allowed | not allowed | read elsewhere, its banner goes by |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for state in AppState.allCases {
            for isPushed in [true, false] { rows.append(row(state, isPushed)) }
        }
        return rows
    }

    private static func row(_ state: AppState, _ isPushed: Bool) -> String {
        let answers = [NotificationSettings.Authorization.authorized, .provisional, .denied].map {
            of(
                Situation(
                    state: state, settings: NotificationSettings(authorization: $0),
                    isPushRegistered: isPushed, isConnected: true))
        }
        let cells =
            [
                state.words, isPushed ? "yes" : "no",
                answers[0].ways.map(\.rawValue).joined(separator: ", "),
                answers[0].decider.rawValue,
            ] + answers.map { words($0.presentation) } + [answers[0].removal.rawValue]
        return "| " + cells.joined(separator: " | ") + " |"
    }

    private static func words(_ options: PresentationOptions) -> String {
        let names: [(PresentationOptions, String)] = [
            (.banner, "banner"), (.list, "list"), (.sound, "sound"), (.badge, "badge"),
        ]
        let words = names.filter { options.contains($0.0) }.map(\.1)
        return words.isEmpty ? "–" : words.joined(separator: ", ")
    }
}

extension NoticeAvailability.AppState {
    fileprivate var words: String {
        switch self {
        case .foreground: "in the foreground"
        case .background: "in the background, in granted time"
        case .suspended: "suspended"
        case .terminated: "ended by the system"
        case .forceQuit: "thrown out by the person"
        }
    }
}
