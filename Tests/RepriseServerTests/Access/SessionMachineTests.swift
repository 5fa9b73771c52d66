import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("The session of a connection")
struct SessionMachineTests {
    static let limits = ServerConnectionMachineTests.limits

    let ada: Principal
    let eve: Principal

    init() throws {
        ada = Principal(user: try UserID("ada"), expires: WallTime(milliseconds: 1))
        eve = Principal(user: try UserID("eve"), expires: WallTime(milliseconds: 1))
    }

    func token() throws -> AccessToken { try AccessToken("a.b.c") }

    /// A connection of ada's whose token ends at 100 s.
    func known() throws -> ServerConnectionMachine {
        var machine = ServerConnectionMachine(now: .zero, asksWho: true)
        _ = machine.frameReceived(ServerConnectionMachineTests.hello, now: .zero)
        #expect(
            machine.identified(.success(ada), ends: .seconds(100), now: .zero)
                == .takeOver(ServerConnectionMachineTests.device))
        #expect(machine.takeOver(from: 0, now: .zero) == .welcome)
        return machine
    }

    @Test(
        "no frame is accepted or read before the token is checked")
    func waits() throws {
        var machine = ServerConnectionMachine(now: .zero, asksWho: true)
        #expect(machine.principal == .nobody)
        #expect(
            machine.frameReceived(ServerConnectionMachineTests.hello, now: .zero) == .identify(nil))
        #expect(machine.mustWait)
        #expect(!machine.mayRead(Self.limits))
        #expect(!machine.isOpen)
        #expect(
            machine.identified(.success(ada), ends: nil, now: .zero)
                == .takeOver(ServerConnectionMachineTests.device))
        #expect(machine.takeOver(from: 0, now: .zero) == .welcome)
        #expect(!machine.mustWait)
        #expect(machine.mayRead(Self.limits))
        #expect(machine.isOpen)
        #expect(machine.principal == ada)
    }

    @Test("an open server checks no token, even if one is sent")
    func open() throws {
        var machine = ServerConnectionMachine(now: .zero)
        let device = EntryID.random()
        let hello = ClientFrame.hello(.init(device: device, client: "", token: try token()))
        #expect(machine.frameReceived(hello, now: .zero) == .takeOver(device))
        #expect(machine.takeOver(from: 0, now: .zero) == .welcome)
        #expect(machine.principal == .open)
        #expect(machine.frameReceived(.authenticate(try token()), now: .zero) == .ignore)
    }

    @Test(
        "a refused token ends the session with a close code and what to do",
        arguments: [
            (RepriseError.Code.unauthorized, CloseCode.unauthorized),
            (.tokenExpired, .tokenExpired), (.unavailable, .unavailable),
            (.internal, .unavailable),
        ])
    func refused(code: RepriseError.Code, close: CloseCode) throws {
        var fresh = ServerConnectionMachine(now: .zero, asksWho: true)
        _ = fresh.frameReceived(ServerConnectionMachineTests.hello, now: .zero)
        for var machine in [fresh, try known()] {
            if machine.isOpen {
                _ = machine.frameReceived(.authenticate(try token()), now: .zero)
            }
            let disposition = machine.identified(
                .failure(RepriseError(code, "It is bad.", remedy: "Get another.")), ends: nil,
                now: .zero)
            #expect(disposition == .close(close, "It is bad. Get another."))
            #expect(!machine.maySend)
            #expect(!machine.mustWait)
        }
    }

    @Test("a fresh token of the same user keeps everything")
    func refreshed() throws {
        var machine = try known()
        machine.publishesAccepted(2)
        let disposition = machine.frameReceived(.authenticate(try token()), now: .seconds(90))
        #expect(disposition == .identify(try token()))
        #expect(machine.mustWait)
        #expect(machine.isOpen)
        var admin = ada
        admin.isAdmin = true
        #expect(
            machine.identified(.success(admin), ends: .seconds(200), now: .seconds(90))
                == .authenticated)
        #expect(machine.principal == admin)
        machine.frameSent(now: .seconds(101))
        machine.bytesTaken(now: .seconds(101))
        machine.bytesReceived(now: .seconds(101))
        #expect(machine.ticked(Self.limits, isReading: true, now: .seconds(101)) == nil)
    }

    @Test("a fresh token of another user ends it")
    func stolen() throws {
        var machine = try known()
        _ = machine.frameReceived(.authenticate(try token()), now: .zero)
        let disposition = machine.identified(.success(eve), ends: nil, now: .zero)
        guard case .close(.unauthorized, let told) = disposition else {
            Issue.record("\(disposition)")
            return
        }
        #expect(told.contains("Connect again"))
        #expect(machine.principal == ada)
    }

    @Test("the connection ends when its token expires, and not earlier")
    func expired() throws {
        var machine = try known()
        machine.frameSent(now: .seconds(99))
        machine.bytesTaken(now: .seconds(99))
        machine.bytesReceived(now: .seconds(99))
        #expect(machine.nextTick(Self.limits, now: .seconds(99)) == .seconds(1))
        #expect(machine.ticked(Self.limits, isReading: true, now: .seconds(99)) == nil)
        let action = machine.ticked(Self.limits, isReading: true, now: .seconds(100))
        #expect(ServerConnectionMachineTests.code(action) == .tokenExpired)
    }

    @Test("a token that ends while a fresh one is being looked at does not end it")
    func race() throws {
        var machine = try known()
        _ = machine.frameReceived(.authenticate(try token()), now: .seconds(99))
        machine.bytesTaken(now: .seconds(110))
        machine.frameSent(now: .seconds(110))
        #expect(machine.ticked(Self.limits, isReading: false, now: .seconds(110)) == nil)
        #expect(
            machine.identified(.success(ada), ends: .seconds(300), now: .seconds(110))
                == .authenticated)
    }

    @Test("an answer that comes after the end of the session is ignored")
    func late() throws {
        var machine = ServerConnectionMachine(now: .zero, asksWho: true)
        _ = machine.frameReceived(ServerConnectionMachineTests.hello, now: .zero)
        _ = machine.quiesceRequested(now: .zero)
        #expect(machine.identified(.success(ada), ends: nil, now: .zero) == .ignore)
        #expect(!machine.maySend)
    }
}
