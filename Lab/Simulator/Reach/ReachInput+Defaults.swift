extension ReachInput {
    /// What is taken where nobody says otherwise.
    var standard: ReachAssumption {
        let (low, value, high) = numbers
        return ReachAssumption(
            range: ReachRange(low, value, high), basis: origin.basis, source: origin.source)
    }

    private var numbers: (Double, Double, Double) {
        switch self {
        case .opensPerDay: (3, 23, 50)
        case .foregroundMinutes: (5.46, 35.15, 64.35)
        case .backgroundSeconds: (5, 30, 180)
        case .forceQuitShare: (0.01, 0.1, 0.5)
        case .refreshMinutes: (15, 120, 1_440)
        case .refreshAllowed: (0.5, 0.8, 0.95)
        case .networkAvailable: (0.85, 0.97, 0.995)
        case .outageMinutes: (1, 10, 60)
        case .messagesPerDay: (5, 50, 150)
        case .replyShare: (0.05, 0.3, 0.6)
        case .replySeconds: (15, 60, 300)
        case .nightShare: (0, 0.1, 0.333)
        case .mutedShare: (0, 0.2, 0.5)
        case .quietShare: (0, 0.5, 0.8)
        case .permission: (0.26, 0.44, 0.7)
        case .webPermission: (0.05, 0.12, 0.25)
        case .webDelivers: (0.5, 0.78, 0.9)
        case .apnsSeconds: (0.5, 1.07, 5)
        case .webPushSeconds: (1, 2.31, 30)
        case .pushLost: (0, 0.01, 0.05)
        }
    }

    private var origin: (basis: Basis, source: String) {
        if let found { return found }
        let reason =
            switch self {
            case .forceQuitShare:
                "No count was found; the case study's \"1-5 %\" names none either."
            case .refreshAllowed: "No count was found."
            case .outageMinutes:
                "No count was found. Baltrunas, Elmokashfi, Kvalbein, Measuring the Reliability of Mobile "
                    + "Broadband Networks: more than 20 % of stationary connections are down over 10 min a day."
            case .replyShare:
                "No count was found. It is in favour of sockets: who writes has the app open."
            case .nightShare: "No count was found; a third would be as many as by day."
            case .mutedShare:
                "No count of messages was found. 59 % of 100 Americans asked by Secure Data Recovery mute "
                    + "group chats (ticker.tv, December 2023)."
            case .pushLost: "No count was found; both services promise best effort alone."
            default: "No source was found."
            }
        return (.assumed, reason)
    }

    private var found: (basis: Basis, source: String)? { foundOfUse ?? foundOfPush }

    private var foundOfUse: (basis: Basis, source: String)? {
        switch self {
        case .opensPerDay:
            (
                .measured,
                "1,000 WhatsApp users watched for 9 months, 2013-14: about 23 launches a day "
                    + "(onlinestatusmonitor.com/data_summary). 20.99 sessions a day on Android, 2025 "
                    + "(digitalinformationworld.com). The range is an assumption: most apps are opened less."
            )
        case .foregroundMinutes:
            (
                .measured,
                "The same 1,000 users: 35.15 min a day; the range is that of the countries, Thailand to "
                    + "Spain (onlinestatusmonitor.com/data_summary)."
            )
        case .backgroundSeconds:
            (
                .documented,
                "Apple gives 5 s for applicationDidEnterBackground and no number for a background task; an "
                    + "Apple engineer measured about 30 s (forum, UIApplication Background Task Notes). 180 s was "
                    + "reported of iOS 7. See docs/phone.md."
            )
        case .refreshMinutes:
            (
                .assumed,
                "Apple promises nothing. Never oftener than every 15 min, less at night (README of "
                    + "react-native-background-fetch); the value between that and once a day is ours."
            )
        case .networkAvailable:
            (
                .assumed,
                "The low end: about 15 % of users are not connected to Google's push service, by Google's "
                    + "word (moengage.com, August 2016). The rest is ours."
            )
        case .messagesPerDay:
            (
                .documented,
                "WhatsApp, 2020: nearly 100 billion messages a day, 2 billion users (justanews.com): 50 sent "
                    + "by each. What is received in groups is more. The range is an assumption."
            )
        case .replySeconds:
            (
                .assumed,
                "64 % of 44 people asked say that those they write to most answer at once or within a few "
                    + "minutes (pielot.org, 2015). The numbers are ours."
            )
        case .quietShare:
            (
                .assumed,
                "Half of those who answered a poll of Androidworld silence their phone for sleep alone "
                    + "(time.news). Readers of that site, and the system's setting, not the app's."
            )
        default: nil
        }
    }

    private var foundOfPush: (basis: Basis, source: String)? {
        switch self {
        case .permission:
            (
                .measured,
                "43.9 % on iOS, Accengage (khamdb.com, 2019); 41 % in 2015 (adweek.com). Low: 26 %, the "
                    + "lowest kind of app on iOS, Appboy 2016 (marketingcharts.com). High: the best kinds of app pass "
                    + "70 %, Urban Airship 2015 (businessinsider.com). Messengers may be higher still."
            )
        case .webPermission:
            (
                .documented,
                "A vendor's ranges, 2026: 5-15 % with a prompt that explains, 12-25 % after engagement "
                    + "(reachbell.com)."
            )
        case .webDelivers:
            (
                .documented,
                "A vendor: 70-85 % over a mixed list, 90 % for young subscriptions (reachbell.com, 2026); "
                    + "another: 50 % after a quarter (support.notifyvisitors.com, 2022)."
            )
        case .apnsSeconds:
            (
                .measured,
                "Mean 1.07 s on test devices that lie on a shelf (logintc.com, February 2013). The range is an "
                    + "assumption."
            )
        case .webPushSeconds:
            (
                .measured,
                "Mean 2.31 s for Google's service on such devices (logintc.com, 2013). The high end is ours: "
                    + "with real users more than 40 % had it within 10 s (Yilmaz and others, Globecom 2014)."
            )
        default: nil
        }
    }
}
