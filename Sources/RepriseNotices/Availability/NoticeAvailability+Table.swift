import RepriseCore

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
