import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// A phone's status for a person: at most 80 columns wide.
struct PhoneStatusText {
    private let status: PhoneStatus
    private let endpoint: PushEndpoint.Address?
    private let terminal: Terminal

    init(_ status: PhoneStatus, _ endpoint: PushEndpoint.Address?, terminal: Terminal) {
        self.status = status
        self.endpoint = endpoint
        self.terminal = terminal
    }

    var lines: [String] {
        [
            row("phone", "process \(status.process), \(network)"),
            row("device", device),
            row("clock", "\(status.now.dayAndTime), the phone is in \(status.zone)"),
        ] + (endpoint.map { [row("pushes", $0.url)] } ?? []) + rules
            + (status.apps.isEmpty
                ? [row("apps", "none; `reprise-lab phone install ID PROGRAM` installs one")] : [])
            + status.apps.flatMap(app)
    }

    private var network: String {
        switch status.network {
        case .on: "online"
        case .off: "offline"
        case .slow(let latency, let rate):
            "slow: \(latency) ms" + (rate.map { ", \($0.grouped) bytes/s" } ?? "")
        }
    }

    private var device: String {
        let device = status.device
        let price = device.isMetered ? ", the network is metered" : ""
        let room = device.freeBytes.map { ", \($0.grouped) bytes free" } ?? ""
        return (device.isPluggedIn ? "plugged in" : "unplugged")
            + (device.isLowPower ? ", Low Power Mode" : "") + price + room
    }

    private var rules: [String] {
        PhoneRules.all.filter { $0.value(in: status.rules) != $0.value(in: PhoneRules()) }
            .map { row("rule", "\($0.id) = \($0.value(in: status.rules))") }
    }

    private func app(_ app: PhoneStatus.App) -> [String] {
        var lines = ["", terminal.paint(app.id.printable, .bold) + "  " + state(app)]
        lines.append(row("allowed", allowed(app.settings)))
        if app.badge > 0 { lines.append(row("badge", app.badge.grouped)) }
        if let endpoint { lines.append(row("token", endpoint.token(of: app.id))) }
        lines += list("delivered", app.delivered.map(delivered))
        lines += list("pending", app.pending.map(pending))
        lines += list("tasks", app.tasks.map(task))
        lines += list("transfers", app.transfers.map(\.shown))
        return lines
    }

    private func state(_ app: PhoneStatus.App) -> String {
        let words =
            switch app.state {
            case .notRunning: app.isForceQuit ? "not running (force-quit)" : "not running"
            case .launching: "launching"
            case .foreground: "foreground"
            case .background: "background"
            case .suspended: "suspended"
            }
        let process = app.process.map { ", process \($0)" } ?? ""
        let left = app.remainingMilliseconds.map { ", \(Duration.milliseconds($0).shown) left" }
        return words + process + (left ?? "")
    }

    private func allowed(_ settings: NotificationSettings) -> String {
        switch settings.authorization {
        case .notDetermined: return "nobody was asked"
        case .denied: return "no notifications"
        case .provisional: return "quietly, until the person decides"
        case .authorized:
            let parts = [
                ("alerts", settings.alerts), ("badges", settings.badges),
                ("sounds", settings.sounds),
            ]
            let named = parts.filter(\.1).map(\.0).joined(separator: ", ")
            return named.isEmpty ? "nothing of it" : named
        }
    }

    private func delivered(_ notification: DeliveredNotification) -> String {
        let time = String(notification.date.dayAndTime.suffix(8))
        return "\(time)  \(notification.request.id)  \(words(notification.request.content))"
            + (notification.isRemote ? "  (push)" : "")
    }

    private func pending(_ request: NotificationRequest) -> String {
        let when =
            switch request.trigger {
            case .after(let seconds, let repeats):
                (repeats ? "every " : "after ") + Duration.seconds(seconds).shown
            case .calendar(_, let repeats): repeats ? "by the calendar, again" : "by the calendar"
            case nil: "at once"
            }
        return "\(request.id)  \(words(request.content))  (\(when))"
    }

    private func task(_ request: BackgroundRequest) -> String {
        let kind = request.kind == .refresh ? "refresh" : "processing"
        let earliest = request.earliest.map { ", not before \($0.dayAndTime)" } ?? ""
        return "\(request.id)  \(kind)\(earliest)"
    }

    private func words(_ content: NotificationContent) -> String {
        let parts = [content.title, content.subtitle, content.body].filter { !$0.isEmpty }
        return "“" + parts.joined(separator: ": ") + "”"
    }

    /// The first ten, each on its line; then how many more there are.
    private func list(_ name: String, _ all: [String]) -> [String] {
        guard !all.isEmpty else { return [] }
        let shown = all.prefix(10).enumerated().map { row($0.offset == 0 ? name : "", $0.element) }
        return shown + (all.count > 10 ? [row("", "and \((all.count - 10).grouped) more")] : [])
    }

    private func row(_ name: String, _ words: String) -> String {
        terminal.paint("  " + name.left(11), .dim) + words.printable.fitting(67)
    }
}
