import RepriseChannels
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Receipts machine")
struct ReceiptsMachineTests {
    private let general: ChannelName

    init() throws { general = try ChannelName("general") }

    private func open(read: Int64 = 0, delivered: Int64 = 0) -> ReceiptsMachine {
        var machine = ReceiptsMachine()
        machine.positionsReceived(general, .init(read: read, delivered: delivered))
        return machine
    }

    private func receipt(read: Int64? = nil, delivered: Int64? = nil) -> [ClientFrame.Receipt] {
        [.init(channel: general, read: read, delivered: delivered)]
    }

    @Test("no receipt is sent before the server has sent the positions")
    func closed() {
        var machine = ReceiptsMachine()
        machine.readMoved(general, to: 5)
        #expect(machine.receipts(at: .zero) == [])
        #expect(machine.due(at: .zero) == nil)
        machine.positionsReceived(general, .init())
        #expect(machine.receipts(at: .zero) == receipt(read: 5))
    }

    @Test("a read position is sent at once and until its echo, and never goes back")
    func read() {
        var machine = open()
        machine.readMoved(general, to: 5)
        machine.readMoved(general, to: 3)
        #expect(machine.receipts(at: .zero) == receipt(read: 5))
        #expect(machine.receipts(at: .seconds(1)) == [])
        #expect(machine.due(at: .seconds(1)) == .seconds(10))
        #expect(machine.receipts(at: .seconds(10)) == receipt(read: 5))
        machine.disconnected()
        #expect(machine.receipts(at: .seconds(11)) == [])
        machine.positionsReceived(general, .init(read: 5))
        #expect(machine.receipts(at: .seconds(11)) == receipt(read: 5))
        machine.echoReceived(general, read: 5, delivered: 0)
        #expect(machine.due(at: .seconds(30)) == nil)
    }

    @Test("a message that was read on another device is read here")
    func elsewhere() {
        var machine = open()
        machine.echoReceived(general, read: 9, delivered: 9)
        #expect(machine.standing(of: general)?.read == 9)
        machine.readMoved(general, to: 7)
        #expect(machine.receipts(at: .zero) == [])
    }

    @Test(
        "delivered positions go together: at most every second, or at every hundred",
        .limit("channels.receipts"))
    func delivered() {
        var machine = open()
        machine.deliveredMoved(general, to: 1)
        #expect(machine.receipts(at: .zero) == receipt(delivered: 1))
        machine.deliveredMoved(general, to: 50)
        #expect(machine.receipts(at: .milliseconds(100)) == [])
        #expect(machine.due(at: .milliseconds(100)) == .seconds(1))
        machine.deliveredMoved(general, to: 101)
        #expect(machine.receipts(at: .milliseconds(200)) == receipt(delivered: 101))
        machine.deliveredMoved(general, to: 102)
        #expect(machine.receipts(at: .milliseconds(1_100)) == [])
        #expect(machine.receipts(at: .milliseconds(1_200)) == receipt(delivered: 102))
    }

    @Test("another epoch voids all positions")
    func epoch() {
        var machine = open(read: 50, delivered: 60)
        machine.left(general)
        machine.positionsReceived(general, .init(read: 0, delivered: 2))
        #expect(machine.receipts(at: .zero) == receipt(delivered: 2))
    }
}
