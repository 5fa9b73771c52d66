import RepriseChannels
import RepriseCore
import RepriseWire
import Testing

/// The failure table of the second seed (001), row by row, and the sequences that it names.
@Suite("Case study catch-up")
struct CaseStudyFailureTests {
    @Test(
        "Backend error mid-catch-up: the catch-up goes on where it was, and is not called complete")
    func backendError() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 5)
        device.events(1)
        device.commit()
        // "nats: subscription closed": nothing more comes, and no sync_complete.
        #expect(device.pass(30).asked == Coverage(through: 1))
        #expect(!device.machine.isLive)
        try device.subscribed(head: 5)
        device.events(2, 3, 4, 5)
        device.commit()
        try device.syncComplete(through: 5)
        #expect(device.machine.isLive)
    }

    @Test("Events arrive out of order: [156, 200, 180, 155, 190] are all applied, each once")
    func outOfOrder() throws {
        var device = ModelDevice(Coverage(through: 154), epoch: try Epoch("e1"))
        _ = device.connect()
        try device.subscribed(head: 200)
        device.events(156, 200, 180, 155, 190)
        device.events(180, 155)
        #expect(device.stored == [156, 200, 180, 155, 190])
        #expect(!device.machine.isLive)
    }

    @Test("200 before 180: 180 is not taken for a duplicate, in live mode either")
    func highestIsNotAPosition() throws {
        var device = try ModelDevice.live(at: 179)
        device.events(200)
        device.events(180)
        #expect(device.stored == [200, 180])
    }

    @Test(
        "No events for 30 s: the device asks for the holes, and does not take silence for completion"
    )
    func silence() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 200)
        device.events(156, 200)
        let actions = device.pass(30)
        let asked = try #require(actions.asked)
        #expect(asked.complement(through: 200).reduce(0) { $0 + $1.count } == 198)
        #expect(!device.machine.isLive)
    }

    @Test(
        "Timeout after 60 s: the device makes a new connection, and does not force the end of the catch-up"
    )
    func timeout() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 200)
        _ = device.pass(30)
        #expect(device.pass(30).contains(.reconnect))
        #expect(!device.machine.isLive)
    }

    @Test("Connection lost: the next one asks for every hole, not from the highest")
    func connectionLost() throws {
        var device = ModelDevice()
        _ = device.connect()
        try device.subscribed(head: 200)
        device.events(1, 2, 200)
        _ = device.machine.disconnected()
        let asked = try #require(device.connect().asked)
        #expect(
            asked.complement(through: 200)
                == [try #require(SequenceRange(after: 2, through: 199))])
    }

    @Test("Live after catch-up: 201 follows 200 at once")
    func liveAfterCatchUp() throws {
        var device = ModelDevice(Coverage(through: 154), epoch: try Epoch("e1"))
        _ = device.connect()
        try device.subscribed(head: 156)
        device.events(156, 155)
        device.commit()
        try device.syncComplete(through: 156)
        #expect(device.machine.isLive)
        #expect(device.events(157).isEmpty)
        #expect(device.stored.last == 157)
    }
}
