import RepriseCore
import RepriseServer
import RepriseWire

/// What all people of a population have in common.
///
/// The notice and the state that decisions begin with, and the quiet hours, looked up once: the
/// shipping `QuietHours` asks for its time zone each time.
struct ReachScene: Sendable {
    let notice: Notice
    let state: NoticeState
    /// A moment after all others.
    let never = WallTime(milliseconds: .max)
    private let quietMinutes: [Bool]
    /// A Monday, midnight in Greenwich.
    private static let began: Int64 = 1_767_571_200_000

    /// How long the server waits with a push to a device without a connection.
    static let pushAfter = PushLimits.slot.inSeconds
    /// How long if the device has one.
    static let pushAfterGrace = (PushLimits.grace + PushLimits.slot).inSeconds
    /// How long the server holds a connection for open of a device that says nothing any more.
    static let connectionStays = ServerLimits().idle.inSeconds
    /// How long a service keeps what it cannot deliver.
    static let pushLife = PushLimits.life.inSeconds

    init() throws {
        let now = WallTime(milliseconds: Self.began)
        // One identity serves for all: a decision looks at nothing of it.
        notice = Notice(
            id: try EntryID("reach"), channel: try ChannelName("reach"), seq: 1,
            sender: try UserID("ada"), published: now, source: .live)
        state = NoticeState(
            me: try UserID("grace"), settings: NotificationSettings(authorization: .authorized),
            now: now)
        let hours = try QuietHours(from: "23:00", to: "07:00", zone: "UTC")
        quietMinutes = (0..<1_440).map {
            hours.contains(WallTime(milliseconds: Self.began + Int64($0) * 60_000))
        }
    }

    func wall(_ seconds: Double) -> WallTime {
        WallTime(milliseconds: Self.began + Int64(seconds * 1_000))
    }

    func isQuiet(_ seconds: Double) -> Bool { quietMinutes[Int(seconds / 60) % 1_440] }
}
