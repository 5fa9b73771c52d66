import ArgumentParser
import RepriseCore
import ReprisePhone

/// Which app plays: the same phone, the same server, the same messages.
enum NoticesAlgorithm: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// The original app of `case-badge-banner`: a socket and local notifications.
    case seed
    case reprise
}

/// The result of one app in a scenario, by the phone's notification centre and by the server.
struct NoticesRun: Sendable {
    let algorithm: NoticesAlgorithm
    let log: [PhoneEvent]
    let messages: [NoticesRecorder.Message]
    /// Violations during the run.
    let noted: [NoticesResult.Fault]
    /// The expected targets of taps.
    let routes: [String]
    /// At the icon, in the end.
    let badge: Int64
    /// By the server, by conversation.
    let standings: [String: NoticesStatus]
    /// The delivered notifications at the end.
    let delivered: [NotificationRequest]
    /// How often the app has counted that a person was alerted twice.
    let secondAlerts: Int64
    let ledger: LedgerSum?

    /// When banners of a message were seen, on the clock of the log.
    func banners(of id: String) -> [Int64] {
        log.filter { $0.what == "banner" && $0.detail == id }.map(\.microseconds)
    }

    /// How soon a person heard of a message; nil: not before the app ran again.
    func time(of message: NoticesRecorder.Message) -> Duration? {
        guard let first = banners(of: message.id).first else { return nil }
        let opened = log.first {
            ($0.what == "foreground" || $0.what == "resumed")
                && $0.microseconds > message.microseconds
        }
        if let opened, opened.microseconds < first { return nil }
        return .microseconds(max(0, first - message.microseconds))
    }

    /// The longest of those that were to be banners; nil: there was none.
    var time: Duration? {
        messages.filter { $0.due == .banner }.compactMap { time(of: $0) }.max()
    }

    var unread: Int64 { standings.values.reduce(0) { $0 + $1.unread } }

    /// The violations.
    var faults: [NoticesResult.Fault] {
        var faults: [NoticesResult.Fault] = []
        func note(_ count: Int, _ fault: (Int) -> NoticesResult.Fault) {
            if count > 0 { faults.append(fault(count)) }
        }
        let stored = Set(log.filter { $0.what == "app.stored" }.map(\.detail))
        func isKnown(_ message: NoticesRecorder.Message) -> Bool {
            stored.contains(message.id) || !banners(of: message.id).isEmpty
        }
        note(messages.count { !isKnown($0) }) { .lost($0) }
        note(messages.count { $0.due == .banner && isKnown($0) && time(of: $0) == nil }) {
            .atOpen($0)
        }
        note(twice) { .twice($0) }
        note(messages.count { $0.due == .quiet && !banners(of: $0.id).isEmpty }) { .shown($0) }
        note(stale) { .stands($0) }
        note(unnamed) { .unnamed($0) }
        note(silent) { .silent($0) }
        let led = log.filter { $0.what == "app.route" }.map { log in
            String(log.detail.prefix { $0 != " " })
        }
        if led != routes { faults.append(.routes(led)) }
        faults += noted
        if badge != unread { faults.append(.badge(saw: badge, due: unread)) }
        return faults
    }

    /// Banners beyond the first of a message.
    var twice: Int { messages.reduce(0) { $0 + max(0, banners(of: $1.id).count - 1) } }

    /// Banners of messages that the person has read.
    private var stale: Int {
        messages.count { message in
            message.seq <= standings[message.channel]?.read ?? 0
                && delivered.contains { $0.id == message.id }
        }
    }

    /// Expected banners that were delivered silently.
    ///
    /// Except where a push has replaced an audible banner: that one must be silent.
    private var silent: Int {
        messages.count { message in
            message.due == .banner
                && log.count { $0.what == "delivered" && $0.detail == message.id } == 1
                && delivered.contains { $0.id == message.id && !$0.content.sound }
        }
    }

    /// Delivered notifications without sender, channel or text.
    private var unnamed: Int {
        delivered.count { request in
            guard let message = messages.first(where: { $0.id == request.id }) else { return true }
            let (content, name) = (request.content, message.id.split(separator: "-").last ?? "")
            let names = content.title + content.subtitle
            return !names.contains("ada") && !names.contains(message.channel)
                || content.body != "Message \(name)"
        }
    }
}
