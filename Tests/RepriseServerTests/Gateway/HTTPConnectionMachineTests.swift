import NIOCore
import RepriseServer
import Testing

@Suite("HTTP connection machine")
struct HTTPConnectionMachineTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private static func at(_ seconds: Int64) -> NIODeadline { start + .seconds(seconds) }

    private static func machine() -> HTTPConnectionMachine {
        HTTPConnectionMachine(.init(ServerLimits()), now: start)
    }

    /// A request without a body, and its answer of so many bytes.
    private static func answered(_ bytes: Int, isLast: Bool = false) -> HTTPConnectionMachine {
        var machine = Self.machine()
        machine.headRead(bodyBytes: 0, isLast: isLast)
        #expect(machine.requestEnded(now: at(1)) == nil)
        #expect(machine.answerBegan(isLast: false) == isLast)
        machine.bytesWritten(bytes, now: at(1))
        #expect(machine.answerEnded(now: at(1)) == nil)
        return machine
    }

    @Test("the next request is read when the last byte of the answer has been sent, and not before")
    func oneAtATime() {
        var machine = Self.answered(100)
        #expect(machine.feedable == 0)
        #expect(!machine.mayRead(isHoldingBytes: false))
        #expect(machine.bytesSent(99, now: Self.at(2)) == nil)
        #expect(machine.feedable == 0)
        #expect(machine.bytesSent(1, now: Self.at(3)) == .readNext)
        #expect(machine.feedable == .max)
        #expect(machine.mayRead(isHoldingBytes: false))
        #expect(!machine.mayRead(isHoldingBytes: true))
    }

    @Test("the last answer is followed by the end, and what comes behind it is bounded")
    func lingering() {
        var machine = Self.answered(100, isLast: true)
        #expect(machine.bytesSent(100, now: Self.at(3)) == .endOutput)
        #expect(machine.nextTick(now: Self.at(3)) == Self.at(8))
        #expect(machine.bytesReceived(2 << 20, now: Self.at(4)) == nil)
        #expect(machine.bytesReceived(1, now: Self.at(4)) == .close)
        #expect(machine.ticked(buffered: 0, now: Self.at(8)) == .close)
    }

    @Test("an answer to a request that is not whole is the last")
    func early() {
        var machine = Self.machine()
        machine.headRead(bodyBytes: 1_000, isLast: false)
        #expect(machine.answerBegan(isLast: false) == true)
        machine.bytesWritten(10, now: Self.at(1))
        #expect(machine.answerEnded(now: Self.at(1)) == nil)
        #expect(machine.bytesSent(10, now: Self.at(1)) == .endOutput)
    }

    @Test("a peer that takes nothing is closed; one that takes a little is not")
    func notReading() {
        var machine = Self.answered(1_000)
        #expect(machine.ticked(buffered: 1_000, now: Self.at(50)) == nil)
        #expect(machine.ticked(buffered: 999, now: Self.at(60)) == nil, "a byte was taken")
        #expect(machine.ticked(buffered: 999, now: Self.at(119)) == nil)
        #expect(machine.ticked(buffered: 999, now: Self.at(120)) == .close)
    }

    @Test("a body's deadline counts only the time in which the server waited for bytes")
    func bodyRate() {
        var machine = Self.machine()
        machine.headRead(bodyBytes: 100_000, isLast: false)
        #expect(machine.ticked(buffered: 0, now: Self.at(1_000)) == nil, "nobody asked for it")
        machine.readBegan(now: Self.at(1_000))
        #expect(machine.bytesReceived(500, now: Self.at(1_010)) == nil)  // 10 s, 5 s paid
        #expect(machine.ticked(buffered: 0, now: Self.at(2_000)) == nil, "nobody asked for more")
        machine.readBegan(now: Self.at(2_000))
        #expect(machine.nextTick(now: Self.at(2_000)) == Self.at(2_015))
        #expect(machine.ticked(buffered: 0, now: Self.at(2_014)) == nil)
        #expect(machine.ticked(buffered: 0, now: Self.at(2_015)) == .failBody)
        #expect(machine.answerBegan(isLast: false) == true, "and the connection ends")
    }

    @Test("a body that arrives fast at first gets no time beyond the grace")
    func bodyCredit() {
        var machine = Self.machine()
        machine.headRead(bodyBytes: nil, isLast: false)
        machine.readBegan(now: Self.at(0))
        #expect(machine.bytesReceived(1 << 20, now: Self.at(1)) == nil)
        machine.readBegan(now: Self.at(1))
        #expect(machine.nextTick(now: Self.at(1)) == Self.at(21))
    }

    @Test("a head's deadline counts from its first byte; the idle time between requests is longer")
    func heads() {
        var machine = Self.machine()
        #expect(machine.nextTick(now: Self.at(0)) == Self.at(10))
        #expect(machine.bytesReceived(1, now: Self.at(9)) == nil)
        #expect(machine.nextTick(now: Self.at(9)) == Self.at(10), "the first has no more")
        machine = Self.answered(1)
        #expect(machine.bytesSent(1, now: Self.at(2)) == .readNext)
        #expect(machine.nextTick(now: Self.at(2)) == Self.at(62))
        #expect(machine.bytesReceived(1, now: Self.at(61)) == nil)
        #expect(machine.bytesReceived(1, now: Self.at(65)) == nil)
        #expect(machine.ticked(buffered: 0, now: Self.at(70)) == nil)
        #expect(machine.ticked(buffered: 0, now: Self.at(71)) == .close)
    }

    @Test("a shutdown ends a connection at once between requests, and behind the answer otherwise")
    func shutdown() {
        var machine = Self.machine()
        #expect(machine.quiesced(now: Self.at(1)) == .close)
        machine = Self.answered(5)
        #expect(machine.quiesced(now: Self.at(1)) == nil)
        #expect(machine.bytesSent(5, now: Self.at(2)) == .endOutput)
        #expect(machine.nextTick(now: Self.at(2)) == Self.at(3))
    }

    @Test(
        "the head of a request ends at its empty line, wherever the bytes are cut",
        arguments: ["GET / HTTP/1.1\r\nA: b\r\n\r\n", "GET / HTTP/1.1\nA: b\n\n", "X\r\n\n"])
    func scanner(head: String) {
        let bytes = Array(head.utf8)
        for cut in 0...bytes.count {
            var scanner = RequestHeadScanner()
            let first = ByteBuffer(bytes: bytes[..<cut]).readableBytesView
            #expect(scanner.length(in: first) == cut)
            guard cut < bytes.count else { continue }
            let rest = ByteBuffer(bytes: bytes[cut...] + Array("GET /next".utf8))
            #expect(scanner.length(in: rest.readableBytesView) == bytes.count - cut)
        }
    }
}
