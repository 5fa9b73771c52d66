import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Submission machine")
struct SubmissionMachineTests {
    private typealias Machine = SubmissionMachine<Int>

    /// A writer and its clock.
    private struct Writer {
        var machine: Machine
        var now: Duration = .seconds(100)
        var position = JournalPosition.start

        init(waitingCommands: Int = 65_536, waitingBytes: Int = 64 << 20) {
            machine = Machine(
                waitingCommands: waitingCommands, waitingBytes: waitingBytes, nonces: { 7 })
        }

        var moment: Machine.Moment {
            .init(
                now: now, clock: WallTime(milliseconds: 1_800_000_000_000), position: position)
        }

        /// A writer whose session is 5.
        static func open() throws -> Writer {
            var writer = Writer()
            let (_, actions) = try writer.machine.submit([ClusterCommand.nop.bytes], writer.moment)
            #expect(actions.sent().map(\.session) == [0])
            #expect(writer.opened(5).map(\.n) == [1])
            _ = writer.applied(1, [0])
            return writer
        }

        mutating func opened(_ session: Int64, nonce: Int64 = 7) -> [ClusterEntry] {
            machine.opened(nonce: nonce, session: session, moment).sent()
        }

        mutating func submit(_ count: Int = 1) throws -> [ClusterEntry] {
            let command = ClusterCommand.trim(channel(), through: 1, grant: nil)
            let commands = [[UInt8]](repeating: command.bytes, count: count)
            return try machine.submit(commands, moment).1.sent()
        }

        mutating func applied(
            _ n: Int64, _ outcomes: [Int] = [], of session: Int64 = 5,
            _ disposition: AdmissionMachine.Disposition = .accepted
        ) -> [Machine.Action] {
            machine.applied(n, of: session, disposition, outcomes, moment)
        }
    }

    @Test(
        "Four entries are under way; the next go together when one is settled",
        .limit("cluster.flight"))
    func window() throws {
        var writer = try Writer.open()
        for n in 2..<6 { #expect(try writer.submit().map(\.n) == [Int64(n)]) }
        for _ in 0..<3 { #expect(try writer.submit().isEmpty) }
        let sent = writer.applied(2, [1]).sent()
        #expect(sent.map(\.n) == [6] && sent[0].commands.count == 3)
    }

    @Test(
        "An entry that is not settled within a second is sent again, with all entries behind it and a new base",
        .limit("cluster.resend"))
    func resends() throws {
        var writer = try Writer.open()
        _ = try writer.submit()
        _ = try writer.submit()
        writer.now += .milliseconds(999)
        #expect(writer.machine.timerFired(writer.moment).isEmpty)
        writer.now += .milliseconds(1)
        writer.position = ClusterEntryTests.base
        let sent = writer.machine.timerFired(writer.moment).sent()
        #expect(sent.map(\.n) == [2, 3])
        #expect(sent.allSatisfy { $0.base == writer.position && $0.session == 5 })
        #expect(writer.machine.due == writer.now + .seconds(1))
    }

    @Test("What nobody waits for any more is not sent, and sent again nothing stands for it")
    func abandonedByAsker() throws {
        var writer = try Writer.open()
        let hello = ClusterCommand.hello(.init(user: nil, device: .random())).bytes
        let (underWay, _) = try writer.machine.submit([hello], writer.moment)
        for _ in 0..<3 { _ = try writer.submit() }
        let (waiting, sent) = try writer.machine.submit([hello], writer.moment)
        #expect(sent.sent().isEmpty)
        for ticket in [underWay, waiting] { writer.machine.abandon(ticket) }
        writer.now += .seconds(1)
        let again = writer.machine.timerFired(writer.moment).sent()
        #expect(again.map(\.n) == [2, 3, 4, 5])
        #expect(again.first?.commands.map(\.bytes) == [ClusterCommand.nop.bytes])
        let actions = writer.applied(2, [0])
        #expect(actions.answers().isEmpty && actions.sent().isEmpty)
    }

    @Test("An entry that came early or was stale has all sent again, once")
    func early() throws {
        for reason in [AdmissionMachine.Reason.early, .stale] {
            var writer = try Writer.open()
            _ = try writer.submit()
            _ = try writer.submit()
            #expect(writer.applied(3, of: 5, .ignored(reason)).sent().map(\.n) == [2, 3])
            #expect(writer.applied(3, of: 5, .ignored(reason)).isEmpty, "the timer does the rest")
            #expect(writer.applied(2, of: 5, .ignored(.duplicate)).isEmpty)
            #expect(writer.applied(2, of: 6, .ignored(reason)).isEmpty, "another's")
        }
    }

    @Test("A session that is forgotten is opened anew, and what is open gets new numbers")
    func forgotten() throws {
        var writer = try Writer.open()
        _ = try writer.submit()
        _ = try writer.submit()
        _ = writer.applied(2, [1])
        let opening = writer.applied(3, of: 5, .ignored(.unknownSession)).sent()
        #expect(opening.map(\.session) == [0])
        #expect(try writer.submit().isEmpty, "waits for the session")
        #expect(writer.opened(9, nonce: 8).isEmpty, "another's")
        let sent = writer.opened(9)
        #expect(sent.map(\.n) == [1, 2] && sent.allSatisfy { $0.session == 9 })
        #expect(writer.applied(1, [4], of: 5).answers().isEmpty, "an old copy")
        #expect(writer.applied(1, [4], of: 9).answers().map(\.1) == [[4]])
    }

    @Test("A submission of several entries is answered once, when all of it is settled")
    func joined() throws {
        var writer = try Writer.open()
        // Of 4,097 commands an entry holds 4,096.
        #expect(try writer.submit(4_097).map { $0.commands.count } == [4_096, 1])
        #expect(writer.applied(2, Array(0..<4_096)).answers().isEmpty)
        let answers = writer.applied(3, [4_096]).answers()
        #expect(answers.map(\.1) == [Array(0...4_096)])
        #expect(writer.machine.isIdle && writer.machine.due == nil)
    }

    @Test(
        "After 15 s a caller is told that the outcome is unknown; the sent entry is settled without him",
        .limit("cluster.answer"))
    func unknown() throws {
        var writer = try Writer.open()
        for _ in 0..<6 { _ = try writer.submit() }
        writer.now += .seconds(15)
        let actions = writer.machine.timerFired(writer.moment)
        let failures = actions.compactMap { action -> RepriseError? in
            if case .answer(_, .failure(let error)) = action { error } else { nil }
        }
        #expect(failures.map(\.code) == Array(repeating: .unavailable, count: 6))
        #expect(actions.sent().map(\.n) == [2, 3, 4, 5], "the four under way")
        #expect(
            actions.sent().flatMap(\.commands).map(\.bytes) == Array(repeating: nop, count: 4))
        #expect(!writer.machine.isIdle)
        for n in Int64(2)...5 {
            let after = writer.applied(n, [1])
            #expect(after.answers().isEmpty && after.sent().isEmpty)
        }
        #expect(writer.machine.isIdle)
        #expect(try writer.submit().map(\.n) == [6])
    }

    @Test(
        "The 15 s of a waiting submission count from its acceptance; other submissions go on",
        .limit("cluster.answer"))
    func since() throws {
        var writer = try Writer.open()
        let command = ClusterCommand.trim(channel(), through: 1, grant: nil).bytes
        func expired(_ actions: [Machine.Action]) -> [Int64] {
            actions.compactMap {
                if case .answer(let ticket, .failure) = $0 { ticket } else { nil }
            }
        }
        _ = try writer.submit()
        writer.now += .seconds(10)
        let (old, _) = try writer.machine.submit([command], writer.moment, since: .seconds(97))
        expectError(.unavailable) {
            _ = try writer.machine.submit([command], writer.moment, since: .seconds(95))
        }
        for _ in 0..<3 { _ = try writer.submit() }  // the last waits: four are under way
        let (older, _) = try writer.machine.submit([command], writer.moment, since: .seconds(96))
        #expect(expired(writer.machine.timerFired(writer.moment)).isEmpty)
        writer.now = .seconds(112)
        let actions = writer.machine.timerFired(writer.moment)
        #expect(expired(actions) == [older, old])
        #expect(
            actions.sent().map { $0.commands.map { $0.bytes == nop } }
                == [[false], [true], [false], [false]])
        let next = writer.applied(2, [1]).sent()
        #expect(next.map(\.n) == [6] && next[0].commands.count == 1, "not what nobody waits for")
        for n in Int64(3)...6 { _ = writer.applied(n, [1]) }
        #expect(writer.machine.isIdle && writer.machine.due == nil)
        #expect(try writer.submit().map(\.n) == [7])
    }

    @Test("An entry keeps the commands that a caller still waits for, and drops abandoned ones")
    func abandoned() throws {
        var writer = try Writer.open()
        for _ in 0..<5 { _ = try writer.submit() }  // four are under way
        writer.now += .seconds(10)
        _ = try writer.submit()
        let sent = writer.applied(2, [1]).sent()
        #expect(sent.map { $0.commands.count } == [2], "the fifth and the sixth")
        writer.now += .seconds(5)
        let again = writer.machine.timerFired(writer.moment).sent()
        #expect(again.map(\.n) == [3, 4, 5, 6])
        #expect(again.last?.commands.map { $0.bytes == nop } == [true, false])
        for n in Int64(3)...5 { _ = writer.applied(n, [1]) }
        #expect(writer.applied(6, [7, 8]).answers().map(\.1) == [[8]])
        #expect(writer.machine.isIdle && writer.machine.due == nil)
    }

    private let nop = ClusterCommand.nop.bytes

    @Test(
        "Too many or too great commands are refused, and nothing of them is taken",
        .limit("cluster.command", "cluster.waiting"))
    func bounds() throws {
        var writer = Writer(waitingCommands: 3, waitingBytes: 100)
        _ = try writer.submit(2)
        expectError(.full) { _ = try writer.submit(2) }
        _ = try writer.submit(1)
        expectError(.full) { _ = try writer.submit(1) }
        #expect(writer.opened(5).map { $0.commands.count } == [3])
        _ = writer.applied(1, [0, 0, 0])
        expectError(.full) {
            _ = try writer.machine.submit([[UInt8](repeating: 0, count: 101)], writer.moment)
        }
        expectError(.tooLarge) {
            let bytes = [UInt8](repeating: 0, count: ClusterLimits.entryBytes)
            _ = try writer.machine.submit([bytes], writer.moment)
        }
        #expect(writer.machine.isIdle)
        _ = try writer.submit(3)
    }
}

extension [SubmissionMachine<Int>.Action] {
    fileprivate func sent() -> [ClusterEntry] {
        compactMap { action in
            guard case .send(let bytes) = action else { return nil }
            do {
                return try ClusterEntry(bytes)
            } catch {
                Issue.record(error)
                return nil
            }
        }
    }

    fileprivate func answers() -> [(Int64, [Int])] {
        compactMap { action in
            if case .answer(let ticket, .success(let outcomes)) = action {
                (ticket, outcomes)
            } else {
                nil
            }
        }
    }
}
