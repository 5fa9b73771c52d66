import RepriseCore
import Testing

@Suite("Taps")
struct TapTests {
    private static func response(
        _ id: String = "a", at time: Int64 = 1, _ action: NotificationResponse.Action = .open
    ) -> NotificationResponse {
        NotificationResponse(
            notification: DeliveredNotification(
                request: NotificationRequest(id: id, content: NotificationContent()),
                date: WallTime(milliseconds: time), isRemote: true), action: action)
    }

    @Test(
        "the same tap through two entrances has one id; another time, action or request has another"
    )
    func identity() {
        #expect(Self.response().tapID == Self.response().tapID)
        let others = [
            Self.response("b"), Self.response(at: 2), Self.response("a", at: 1, .dismiss),
            Self.response("a", at: 1, .button("open")),
            Self.response("a", at: 1, .text("r", answer: "")),
        ]
        #expect(Set(others.map(\.tapID) + [Self.response().tapID]).count == 6)
        for other in others { #expect(throws: Never.self) { try EntryID(other.tapID.text) } }
    }
}
