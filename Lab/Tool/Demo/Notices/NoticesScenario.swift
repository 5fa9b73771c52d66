import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// One scenario of the demo `notices`: actions on the phone and at the server, and the expected
/// notifications.
struct NoticesScenario: Scenario {
    let name: String
    let title: String
    /// Whether the app with Reprise gets pushes; the original app never does.
    var isPushed = false
    var isInCaseStudy = true
    var isAlone = false
    /// Whether two alerts may race, so that a second one counted by the app is no violation.
    var mayRace = false
    var rules = PhoneRules()
    /// How many persons have one; what is expected holds on each.
    var phones = 1
    let steps: [Step<NoticesSession>]

    /// All, in the order of the demo.
    static func all(_ settings: DemoSettings = DemoSettings()) -> [NoticesScenario] {
        states + reading + [threeDevices(settings)] + pushes + beginnings + races + quiet
            + troubles + [providerDown(settings)]
    }
}

// MARK: In the case study: its four tests, and the rows of its tables

extension NoticesScenario {
    private static let states = [
        NoticesScenario(
            name: "test-1", title: "T1 the app is in the foreground",
            steps: [.launch, .write("m1"), .seen("m1"), .badge]),
        NoticesScenario(
            name: "test-2", title: "T2 the home button was pressed",
            steps: [.launch, .home, .write("m1"), .seen("m1"), .badge]),
        NoticesScenario(
            name: "test-3", title: "T3 over another app, then tapped",
            steps: [
                .launch, .switchToAnotherApp, .write("m1"), .seen("m1"), .badge, .tap("m1"),
                .badge,
            ]),
        NoticesScenario(
            name: "test-4", title: "T4 force-quit, no push, then opened",
            steps: [.launch, .forceQuit, .write("m1", .atOpen), .open, .stored("m1"), .badge]),
        NoticesScenario(
            name: "two-talks", title: "total unread, of two conversations",
            steps: [
                .launch, .home,
                .forEach(1...4) { index in
                    [.write("m\(index)", in: index % 2), .seen("m\(index)"), .badge]
                },
            ]),
        NoticesScenario(
            name: "signs", title: "typing, and read receipts",
            steps: [
                .launch, .adaTypes, .write("m1"), .seen("m1"), .adaReads, .home, .tap("m1"),
                .isKnownAsRead("m1"), .badge,
            ]),
        NoticesScenario(
            name: "granted", title: "20 of 30 s in the background, then back",
            steps: [
                .launch, .home, .advance(by: .seconds(20)), .write("m1"), .seen("m1"), .open,
                .badge,
            ]),
    ]

    private static let reading = [
        NoticesScenario(
            name: "read-here", title: "tapped: read, and the badge is gone",
            steps: [
                .launch, .home, .write("m1"), .write("m2"), .seen("m1", "m2"), .tap("m2"),
                .gone("m1", "m2"), .badge,
            ]),
        NoticesScenario(
            name: "opened", title: "opened and not read: the badge stays",
            steps: [.launch, .home, .write("m1"), .seen("m1"), .open, .badge]),
        NoticesScenario(
            name: "read-there", title: "read on a tablet while it stands",
            steps: [
                .launch, .home, .write("m1"), .seen("m1"), .readElsewhere, .gone("m1"), .badge,
            ]),
        NoticesScenario(
            name: "read-there-dead", title: "the same by push, the app is dead", isPushed: true,
            steps: [
                .launch, .home, .kill, .write("m1"), .seen("m1"), .readElsewhere, .gone("m1"),
                .badge,
            ]),
        NoticesScenario(
            name: "on-screen", title: "its conversation is on the screen",
            steps: [
                .launch, .home, .write("m1"), .seen("m1"), .tap("m1"), .writeOnScreen("m2"),
                .stored("m2"), .badge,
            ]),
    ]

    private static func threeDevices(_ settings: DemoSettings) -> NoticesScenario {
        let count = settings.isFull ? 1_000 : 60
        // Alone where it is long, so that it delays no other.
        return NoticesScenario(
            name: "three-devices", title: "\(count.grouped) random steps, three devices",
            isAlone: settings.isFull, steps: [.random(count, seed: settings.seed ?? 1)])
    }

    private static let five = (1...5).map { "m\($0)" }
    private static let ten = (1...10).map { "m\($0)" }

    private static let pushes = [
        NoticesScenario(
            name: "suspended", title: "10 messages while suspended", isPushed: true,
            steps: [
                .launch, .home, .suspend, .forEach(ten) { [.write($0)] }, .seen(ten), .resume,
                .stored(ten), .badge,
            ]),
        NoticesScenario(
            name: "terminated", title: "terminated, with push", isPushed: true,
            steps: [.launch, .home, .kill, .write("m1"), .seen("m1"), .badge, .tap("m1")]),
        NoticesScenario(
            name: "no-push", title: "terminated, without push",
            steps: [
                .launch, .home, .kill, .write("m1", .atOpen), .write("m2", .atOpen), .open,
                .stored("m1", "m2"), .badge,
            ]),
        NoticesScenario(
            name: "force-quit", title: "force-quit, with push, then tapped", isPushed: true,
            steps: [.launch, .forceQuit, .write("m1"), .seen("m1"), .badge, .tap("m1"), .badge]),
    ]
}

// MARK: Beyond it

extension NoticesScenario {
    private static let beginnings = [
        NoticesScenario(
            name: "new-talk", title: "Ada begins a conversation, app at home",
            isInCaseStudy: false,
            steps: [
                .launch, .home, .begins("m1"), .seen("m1"), .badge, .tap("m1"), .stored("m1"),
                .badge,
            ]),
        NoticesScenario(
            name: "new-talk-dead", title: "the same by push, the app is dead", isPushed: true,
            isInCaseStudy: false,
            steps: [
                .launch, .kill, .begins("m1"), .seen("m1"), .badge, .tap("m1"), .stored("m1"),
                .badge,
            ]),
        NoticesScenario(
            name: "two-phones", title: "two phones and a terminal, both are dead", isPushed: true,
            isInCaseStudy: false, phones: 2,
            steps: [
                .launch, .kill, .onOthers(.launch, .kill), .beginsAtTerminal("m1"), .seen("m1"),
                .badge, .onOthers(.seen("m1"), .badge), .tap("m1"), .stored("m1"), .isRead("m1"),
                .badge, .offline, .answer("m2"), .kill, .online, .launch, .answerArrives("m2"),
                .onOthers(
                    .seen("m2"), .badge, .tap("m2"), .stored("m1", "m2"), .isRead("m2"),
                    .gone("m1", "m2"), .badge),
                .badge, .terminalAgrees,
            ]),
    ]

    private static let races = [
        NoticesScenario(
            name: "socket-push", title: "first by socket, then by push", isPushed: true,
            isInCaseStudy: false,
            steps: [
                .launch, .home, .write("m1"), .seen("m1"), .mirrored("m1"), .latePush("m1"),
                .badge,
            ]),
        NoticesScenario(
            name: "push-socket", title: "first by push, then by socket", isPushed: true,
            isInCaseStudy: false,
            steps: [
                .launch, .home, .suspend, .write("m1"), .seen("m1"), .resume, .stored("m1"),
                .badge,
            ]),
        NoticesScenario(
            name: "at-once", title: "by push and socket at once", isPushed: true,
            isInCaseStudy: false, mayRace: true,
            steps: [.launch, .home, .atOnce, .seen(five), .badge]),
        NoticesScenario(
            name: "foreground-push", title: "the same, in the foreground", isPushed: true,
            isInCaseStudy: false, mayRace: true, steps: [.launch, .atOnce, .seen(five), .badge]),
    ]

    private static let quiet = [
        NoticesScenario(
            name: "permission", title: "denied, and later allowed",
            steps: [
                .permit(.denied), .launch, .home, .write("m1", .quiet), .decided("m1"),
                .permit(.authorized), .open, .badge, .home, .write("m2"), .seen("m2"), .badge,
            ]),
        // The server's calendar does not advance with the phone's: caught-up messages would seem
        // hours old. So the app is started anew before each message, and live.
        NoticesScenario(
            name: "quiet-hours", title: "quiet over midnight, by Tokyo's clock",
            isInCaseStudy: false,
            steps: [
                .quietHours(from: "22:00", to: "07:00", in: "Asia/Tokyo"), .launch,
                .forEach([21, 22, 0, 6, 7]) { hour in
                    let isLoud = hour == 21 || hour == 7
                    return [
                        .kill, .advance(toHour: hour, minute: 30, in: "Asia/Tokyo"), .launch,
                        .write("m\(hour)", isLoud ? .banner : .quiet), .decided("m\(hour)"),
                        .seen(isLoud ? ["m\(hour)"] : []), .badge,
                    ]
                },
            ]),
        NoticesScenario(
            name: "quiet-push", title: "the same by push, the app is dead", isPushed: true,
            isInCaseStudy: false,
            steps: [.quietHoursNow, .launch, .kill, .write("m1", .quiet), .listed("m1"), .badge]),
    ]

    private static let troubles = [
        // The first change is the banner, and behind it the process is no more.
        NoticesScenario(
            name: "banner-badge", title: "killed between banner and badge",
            steps: [
                .launch, .home, .kill, .install("--die-after-changes", "1"), .launch, .home,
                .write("m1"), .dies, .badge, .install(), .open, .badge,
            ]),
        NoticesScenario(
            name: "before-banner", title: "killed before the banner it had decided",
            isInCaseStudy: false,
            steps: [
                .launch, .home, .kill, .install("--die-after-changes", "0"), .launch, .home,
                .write("m1", .atOpen), .dies, .install(), .open, .seen("m1"), .badge,
            ]),
        NoticesScenario(
            name: "extension-limit", title: "the extension hangs until its limit",
            isPushed: true, isInCaseStudy: false,
            steps: [
                .install(extension: ["--hang-at", "decided", "--ignores-warning"]), .launch,
                .forceQuit, .write("m1"), .reports("extension"), .advance(by: .seconds(27)),
                .advance(by: .seconds(3)), .seen("m1"), .badge,
            ]),
        NoticesScenario(
            name: "server-killed", title: "the server dies before it has pushed",
            isPushed: true, isAlone: true,
            steps: [.launch, .kill, .write("m1"), .killServer, .seen("m1"), .badge]),
    ]

    private static func providerDown(_ settings: DemoSettings) -> NoticesScenario {
        let outage: Duration = settings.isFull ? .seconds(3_600) : .seconds(8)
        // The longest pause before a provider is asked again, and that of a push.
        let timeout: Duration = settings.isFull ? .seconds(400) : .seconds(60)
        return NoticesScenario(
            name: "provider-down",
            title: "Apple is down " + (settings.isFull ? "for an hour" : "(an hour, cut to 8 s)"),
            isPushed: true, isInCaseStudy: false, isAlone: settings.isFull,
            steps: [
                .launch, .kill, .providerIsDown(true), .write("m1"), .write("m2"), .write("m3"),
                .wait(outage), .providerIsDown(false), .seen(["m1", "m2", "m3"], within: timeout),
                .badge,
            ])
    }
}
