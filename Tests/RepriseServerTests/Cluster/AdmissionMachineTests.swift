import RepriseCore
import RepriseServer
import RepriseTestSupport
import Testing

@Suite("Which entries of the journal count")
struct AdmissionMachineTests {
    /// A journal of which one gateway has applied everything.
    private struct Journal {
        var machine = AdmissionMachine()
        private(set) var last: StoredEntry?
        private(set) var bases: [JournalPosition] = [.start]
        var wall = WallTime(milliseconds: 1_800_000_000_000)

        /// Stores an entry and admits it; `base` is of so many entries before.
        @discardableResult
        mutating func admit(
            session: Int64, n: Int64, base age: Int = 0, _ command: ClusterCommand = .nop,
            clock: WallTime? = nil, isVerified: Bool = false,
            change: (inout ClusterEntry) -> Void = { _ in }
        ) throws -> AdmissionMachine.Disposition {
            var entry = ClusterEntry(
                session: session, n: n, clock: clock ?? wall, base: bases[bases.count - 1 - age],
                commands: [command])
            change(&entry)
            let stored = StoredEntry(
                sequence: machine.position.sequence + 1, stamp: wall, bytes: entry.bytes)
            let disposition = try machine.admit(stored, isVerified: isVerified).disposition
            last = stored
            bases.append(machine.position)
            return disposition
        }

        /// Opens a session; its id.
        mutating func open() throws -> Int64 {
            try admit(session: 0, n: 1, .session(nonce: 1, name: ""))
            return machine.position.sequence
        }
    }

    @Test("An entry is admitted once, in the order of its session")
    func numbers() throws {
        var journal = Journal()
        let session = try journal.open()
        #expect(try journal.admit(session: session, n: 2) == .ignored(.early))
        #expect(try journal.admit(session: session, n: 1) == .accepted)
        #expect(try journal.admit(session: session, n: 1) == .ignored(.duplicate))
        #expect(try journal.admit(session: session, n: 3) == .ignored(.early))
        #expect(try journal.admit(session: session, n: 2) == .accepted)
        #expect(try journal.admit(session: session + 1, n: 1) == .ignored(.unknownSession))
        #expect(
            try journal.admit(session: 0, n: 1, .session(nonce: 9, name: "")) == .opened(nonce: 9))
        #expect(try journal.admit(session: journal.machine.position.sequence, n: 1) == .accepted)
        #expect(try journal.admit(session: session, n: 3) == .accepted)
    }

    @Test("A base of 10,000 entries or 60 s ago is too old", .limit("cluster.base"))
    func stale() throws {
        var journal = Journal()
        let session = try journal.open()
        journal.wall = journal.wall.advanced(by: .milliseconds(60_000))
        #expect(try journal.admit(session: session, n: 1) == .accepted)
        #expect(try journal.admit(session: session, n: 2, base: 1) == .accepted)
        journal.wall = journal.wall.advanced(by: .milliseconds(1))
        #expect(try journal.admit(session: session, n: 3, base: 2) == .ignored(.stale))
        #expect(try journal.admit(session: session, n: 3) == .accepted, "its number is not taken")

        for _ in 0..<10_000 { try journal.admit(session: 1_000_000, n: 1) }
        #expect(try journal.admit(session: session, n: 4, base: 9_999) == .accepted)
        #expect(try journal.admit(session: session, n: 5, base: 10_000) == .ignored(.stale))
    }

    @Test("An entry with a different history stops the gateway until the histories are compared")
    func otherPast() throws {
        var journal = Journal()
        let session = try journal.open()
        let before = journal.machine.position
        let otherDigest: (inout ClusterEntry) -> Void = { $0.base.digest = .zero }
        #expect(throws: AdmissionMachine.Fault.otherPast(sequence: 2, base: 1)) {
            try journal.admit(session: session, n: 1, change: otherDigest)
        }
        #expect(throws: AdmissionMachine.Fault.otherPast(sequence: 2, base: 5)) {
            try journal.admit(session: session, n: 1) { $0.base.sequence = 5 }
        }
        #expect(journal.machine.position == before, "nothing has changed")
        #expect(
            try journal.admit(session: session, n: 1, isVerified: true, change: otherDigest)
                == .ignored(.otherPast))
        #expect(try journal.admit(session: session, n: 1) == .accepted)
    }

    @Test("An entry that comes again is compared with the applied one")
    func order() throws {
        var journal = Journal()
        _ = try journal.open()
        let applied = try #require(journal.last)
        #expect(journal.machine.order(of: applied) == .applied)
        var other = applied
        other.stamp = other.stamp.advanced(by: .milliseconds(1))
        #expect(journal.machine.order(of: other) == .changed)
        other = applied
        other.sequence = 2
        #expect(journal.machine.order(of: other) == .next)
        other.sequence = 3
        #expect(journal.machine.order(of: other) == .ahead)
    }

    @Test("A message that no gateway wrote is ignored, and does not advance the time")
    func noEntry() throws {
        var machine = AdmissionMachine()
        let whole = ClusterEntryTests.entry([.nop]).bytes
        let strange: [[UInt8]] = [
            [], Array("hello".utf8), Array(whole.dropLast()), whole + [0],
            // No version has a shorter head.
            ClusterEntry.magic + [9], later(whole.prefix(ClusterEntry.headBytes - 1)),
            [UInt8](repeating: 0, count: ClusterLimits.entryBytes + 1),
        ]
        for (index, bytes) in strange.enumerated() {
            let stored = StoredEntry(
                sequence: Int64(index + 1), stamp: WallTime(milliseconds: 5), bytes: bytes)
            let admission = try machine.admit(stored)
            #expect(admission.disposition == .ignored(.noEntry) && admission.entry == nil)
            #expect(machine.position.sequence == stored.sequence)
            #expect(machine.time == WallTime(milliseconds: 0))
        }
    }

    /// As a later format.
    private func later(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var bytes = Array(bytes)
        bytes[ClusterEntry.magic.count] = 2
        return bytes
    }

    @Test("A session that a later version opens stops the gateway at the position before it")
    func unreadable() throws {
        var machine = AdmissionMachine()
        let opening = ClusterEntry(
            session: 0, n: 1, clock: WallTime(milliseconds: 5), base: .start,
            commands: [.session(nonce: 1, name: "")])
        let stored = StoredEntry(
            sequence: 1, stamp: WallTime(milliseconds: 5), bytes: later(opening.bytes))
        do {
            _ = try machine.admit(stored)
            Issue.record("it was read")
        } catch {
            guard case .unreadable(1, let reason) = error else { throw error }
            #expect(reason.code == .unknownKind)
        }
        #expect(machine.position == .start)
    }

    /// What an older version cannot read.
    enum Unknown: CaseIterable { case command, format, rules }

    @Test(
        "An entry of a later version stops the gateway only if it would be admitted",
        arguments: Unknown.allCases)
    func unknownCommand(_ unknown: Unknown) throws {
        var journal = Journal()
        let session = try journal.open()
        func entry(_ session: Int64, n: Int64) -> StoredEntry {
            var bytes = ClusterEntry.bytes(
                rules: unknown == .rules ? ClusterEntry.rules + 1 : ClusterEntry.rules,
                session: session, n: n, clock: journal.wall, base: journal.machine.position,
                commands: [unknown == .command ? [250] : ClusterCommand.nop.bytes])
            if unknown == .format { bytes = later(bytes) }
            return StoredEntry(
                sequence: journal.machine.position.sequence + 1, stamp: journal.wall, bytes: bytes)
        }
        #expect(try journal.admit(session: session, n: 1) == .accepted)
        let copies: [(Int64, Int64, AdmissionMachine.Reason)] = [
            (session, 1, .duplicate), (session, 3, .early), (session + 99, 1, .unknownSession),
        ]
        for (session, n, reason) in copies {
            let disposition = try journal.machine.admit(entry(session, n: n)).disposition
            #expect(disposition == .ignored(reason))
        }
        let last = journal.machine.position
        #expect(throws: AdmissionMachine.Fault.self) {
            _ = try journal.machine.admit(entry(session, n: 2))
        }
        #expect(journal.machine.position == last)
        // Skipped it counts, in this version as in the later one.
        let skipped = try journal.machine.admit(entry(session, n: 2), isSkipped: true)
        #expect(skipped.disposition == .accepted && skipped.skipped == 1)
    }

    @Test(
        "Time follows the journal's clock, not back, and far only if a second clock confirms it",
        .limit("cluster.time"))
    func time() throws {
        var journal = Journal()
        let session = try journal.open()
        let start = journal.machine.time
        #expect(start == journal.wall)
        journal.wall = start.advanced(by: .seconds(-60))
        try journal.admit(session: session, n: 1)
        #expect(journal.machine.time == start && !journal.machine.isTimeHeld)
        journal.wall = start.advanced(by: .seconds(-90))
        try journal.admit(session: session, n: 2)
        #expect(journal.machine.time == start && journal.machine.isTimeHeld)
        journal.wall = start.advanced(by: .seconds(60))
        try journal.admit(session: session, n: 3, clock: start)
        #expect(journal.machine.time == journal.wall, "a step needs no other clock")
        #expect(!journal.machine.isTimeHeld)

        // The leader's clock is a day off.
        journal.wall = start.advanced(by: .seconds(86_400))
        try journal.admit(session: session, n: 4, clock: start.advanced(by: .seconds(61)))
        #expect(journal.machine.time == start.advanced(by: .seconds(60)))
        #expect(journal.machine.isTimeHeld)
        // It was right: the cluster was off for a day.
        try journal.admit(session: session, n: 5, clock: journal.wall.advanced(by: .seconds(300)))
        #expect(journal.machine.time == journal.wall && !journal.machine.isTimeHeld)
    }

    @Test(
        "A session is forgotten a day after its last entry, when another begins",
        .limit("cluster.sessions"))
    func sessionLife() throws {
        var journal = Journal()
        let (first, second) = (try journal.open(), try journal.open())
        journal.wall = journal.wall.advanced(by: .seconds(86_400))
        #expect(
            try journal.admit(session: 0, n: 1, base: 0, .session(nonce: 1, name: ""))
                == .ignored(.stale))
        try journal.admit(session: 5, n: 1)
        #expect(try journal.admit(session: second, n: 1) == .accepted)
        journal.wall = journal.wall.advanced(by: .milliseconds(1))
        #expect(journal.machine.sessions.count == 2)
        let third = try journal.open()
        #expect(journal.machine.sessions.keys.sorted() == [second, third])
        #expect(try journal.admit(session: first, n: 1) == .ignored(.unknownSession))
    }

    @Test(
        "Of 4,096 sessions the one that was used least recently makes room",
        .limit("cluster.sessions"))
    func sessionCount() throws {
        var journal = Journal()
        let first = try journal.open()
        for _ in 1..<4_096 { _ = try journal.open() }
        try journal.admit(session: first, n: 1)
        journal.wall = journal.wall.advanced(by: .seconds(1))
        try journal.admit(session: first, n: 2)
        #expect(journal.machine.sessions.count == 4_096)
        let last = try journal.open()
        #expect(journal.machine.sessions.count == 4_096)
        #expect(journal.machine.sessions[first] != nil && journal.machine.sessions[last] != nil)
        #expect(journal.machine.sessions[first + 1] == nil)
    }

    @Test("A gateway that starts again decides as one that never stopped")
    func restart() throws {
        var journal = Journal()
        let session = try journal.open()
        for n in 1..<70 { try journal.admit(session: session, n: Int64(n)) }
        let machine = journal.machine
        let recent = journal.bases.dropFirst().map {
            AdmissionMachine.Recent(digest: $0.digest, time: machine.time)
        }
        let again = AdmissionMachine(
            position: machine.position, time: machine.time, sessions: machine.sessions,
            recent: recent)
        for sequence in Int64(0)...70 {
            #expect(again.digest(at: sequence) == machine.digest(at: sequence))
        }
        journal.machine = again
        #expect(try journal.admit(session: session, n: 70, base: 40) == .accepted)
    }
}
