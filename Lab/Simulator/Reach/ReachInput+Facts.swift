extension ReachInput {
    /// What it is, for people.
    package var title: String {
        switch self {
        case .opensPerDay: "times a day the app is opened"
        case .foregroundMinutes: "minutes a day in the foreground"
        case .backgroundSeconds: "seconds of background time after a use"
        case .forceQuitShare: "share of people who swipe the app away after each use"
        case .refreshMinutes: "minutes between two background refreshes"
        case .refreshAllowed: "share of people with background refresh on"
        case .networkAvailable: "share of time with a network"
        case .outageMinutes: "minutes that a time without network lasts"
        case .messagesPerDay: "messages a day to a person"
        case .replyShare: "share of messages that answer the person"
        case .replySeconds: "seconds until such an answer"
        case .nightShare: "share of the other messages that come at night"
        case .mutedShare: "share of messages in muted conversations"
        case .quietShare: "share of people with quiet hours at night"
        case .permission: "share of people who allow notifications of the app"
        case .webPermission: "share of people who allow them to the web page"
        case .webDelivers: "share of web subscriptions that still deliver"
        case .apnsSeconds: "seconds that APNs takes"
        case .webPushSeconds: "seconds that a web push service takes"
        case .pushLost: "share of pushes that a service loses"
        }
    }

    /// The same in a few words, for charts.
    package var label: String {
        switch self {
        case .opensPerDay: "opens a day"
        case .foregroundMinutes: "minutes in front"
        case .backgroundSeconds: "background time, s"
        case .forceQuitShare: "people who force-quit"
        case .refreshMinutes: "refresh every … min"
        case .refreshAllowed: "refresh allowed"
        case .networkAvailable: "network available"
        case .outageMinutes: "outage, min"
        case .messagesPerDay: "messages a day"
        case .replyShare: "messages that answer"
        case .replySeconds: "answer after … s"
        case .nightShare: "messages at night"
        case .mutedShare: "muted messages"
        case .quietShare: "people with quiet hours"
        case .permission: "permission"
        case .webPermission: "web permission"
        case .webDelivers: "web subscription alive"
        case .apnsSeconds: "APNs takes, s"
        case .webPushSeconds: "web push takes, s"
        case .pushLost: "pushes lost"
        }
    }

    /// Between what it can lie at all.
    package var possible: ClosedRange<Double> {
        switch self {
        case .opensPerDay: 0.1...500
        case .foregroundMinutes: 0...960
        case .backgroundSeconds: 0...86_400
        case .refreshMinutes: 15...10_080
        case .networkAvailable: 0.05...1
        case .outageMinutes: 0.1...1_440
        case .messagesPerDay: 0.1...1_000
        case .replySeconds: 0...86_400
        case .apnsSeconds, .webPushSeconds: 0...3_600
        case .forceQuitShare, .refreshAllowed, .replyShare, .nightShare, .mutedShare, .quietShare,
            .permission, .webPermission, .webDelivers, .pushLost:
            0...1
        }
    }
}
