import RepriseCommandLine
import RepriseCore
import RepriseReminders

/// A tap for a person: two lines, at most 80 columns wide.
struct RouteText {
    private let route: ReminderRouteReading

    init(_ route: ReminderRouteReading) { self.route = route }

    func lines(_ terminal: Terminal) -> [String] {
        let head = "\(route.at.dayAndTime)  \(source)  \(leads)".printable.fitting(80)
        let resolution = (route.resolution ?? "waits").printable
        let words = [route.reason, fate].compactMap(\.self).joined(separator: " ").printable
        let room = max(0, 80 - 6 - resolution.columns)
        return [
            head,
            "    " + terminal.paint(resolution, colour) + ": " + words.fitting(room),
        ]
    }

    private var source: String {
        route.action.map { "\(route.source) \($0)" } ?? route.source
    }

    private var leads: String {
        guard let leads = route.route else { return "leads nowhere" }
        let place = [leads.sort, leads.id, leads.part].compactMap(\.self).joined(separator: "/")
        return place + (leads.owner.map { " of \($0)" } ?? "") + (leads.isTest ? " (test)" : "")
    }

    private var fate: String? {
        if let presented = route.presented {
            return "Presented after \(route.at.duration(to: presented).shown)."
        }
        guard route.resolution != nil else {
            return "The app's store has not been asked yet, or has not answered."
        }
        guard route.handed > 0 else { return nil }
        return route.handed == 1
            ? "Dispatched, not presented yet."
            : "Dispatched \(route.handed.grouped) times, not presented yet."
    }

    private var colour: Terminal.Colour {
        switch route.resolution {
        case "active": .green
        case nil, "paused", "superseded": .yellow
        default: .red
        }
    }
}
