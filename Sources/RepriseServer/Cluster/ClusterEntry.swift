package import RepriseCore

/// An entry of the cluster's journal: commands of one gateway, in order.
///
/// | field | bytes |
/// |---|---|
/// | magic number, `RpJn` | 4 |
/// | format | 1 |
/// | rules | 8 |
/// | session, n | 8 each |
/// | clock | 8, milliseconds since 1970 |
/// | base: sequence, digest | 8, 32 |
/// | number of commands | 8 |
/// | each command: its tag and its fields | 1 and more |
///
/// Integers are big-endian. Whatever is unknown, missing or left over is refused: see
/// ``BinaryReader``.
///
/// Every format begins with this head. So whether an entry is its session's next is told by a
/// version that cannot read its commands, and a skipped one counts in every version.
package struct ClusterEntry: Sendable {
    /// Tells an entry from what somebody else has published there.
    package static let magic = Array("RpJn".utf8)
    /// The layout of an entry.
    package static let format: UInt8 = 1
    /// What an entry's head says; how commands are applied: see ``ClusterRules``.
    package static let rules: Int64 = 1

    /// The rules by which its gateway expects it to be applied.
    package var rules = Self.rules
    /// Its writer's session: the sequence of the entry that opened it; 0 to open one.
    package var session: Int64
    /// Its number in the session, from 1.
    package var n: Int64
    /// The time by the writer's clock.
    package var clock: WallTime
    /// What its writer had applied when it sent the entry.
    package var base: JournalPosition
    package var commands: [ClusterCommand]

    package init(
        session: Int64, n: Int64, clock: WallTime, base: JournalPosition,
        commands: [ClusterCommand]
    ) {
        self.session = session
        self.n = n
        self.clock = clock
        self.base = base
        self.commands = commands
    }

    package var bytes: [UInt8] {
        Self.bytes(
            rules: rules, session: session, n: n, clock: clock, base: base,
            commands: commands.map(\.bytes))
    }

    /// An entry of commands that are written already.
    package static func bytes(
        rules: Int64 = Self.rules, session: Int64, n: Int64, clock: WallTime,
        base: JournalPosition, commands: [[UInt8]]
    ) -> [UInt8] {
        var writer = BinaryWriter(
            expecting: commands.reduce(headBytes) { $0 + $1.count })
        writer.writeRaw(magic)
        writer.write(format)
        writer.write(rules)
        writer.write(session)
        writer.write(n)
        writer.write(clock)
        writer.write(base.sequence)
        writer.writeRaw(base.digest.bytes)
        writer.write(Int64(commands.count))
        for command in commands { writer.writeRaw(command) }
        return writer.bytes
    }

    /// The number of commands that an entry's head tells, of an entry whose head is read.
    static func commandCount(_ bytes: [UInt8]) -> Int {
        bytes[(headBytes - 8)..<headBytes].reduce(0) { $0 << 8 | Int($1) }
    }

    /// The bytes of an entry without commands.
    package static let headBytes = 4 + 1 + 8 + 8 + 8 + 8 + 8 + 32 + 8

    /// - Throws: ``RepriseCore/RepriseError`` `.unknownKind` for a format, rules or a command of a
    ///   later version; `.malformed`, or `.tooLarge` beyond ``ClusterLimits/entryBytes``, for what
    ///   no version writes.
    package init(_ bytes: [UInt8]) throws {
        try self.init(bytes, hasCommands: true)
    }

    /// An entry's head alone, of any format, where its commands do not matter: it does not count,
    /// or they are not to be applied.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` or `.tooLarge` for what no version
    ///   writes.
    package init(headOf bytes: [UInt8]) throws {
        try self.init(bytes, hasCommands: false)
    }

    private init(_ bytes: [UInt8], hasCommands: Bool) throws {
        guard bytes.count <= ClusterLimits.entryBytes else {
            throw RepriseError(.tooLarge, "An entry has \(bytes.count) bytes.")
        }
        var reader = BinaryReader(bytes)
        guard try reader.raw(Self.magic.count) == Self.magic else {
            throw RepriseError(.malformed, "It is no entry.")
        }
        let format = try reader.byte()
        guard !hasCommands || format == Self.format else {
            throw Self.unknown("an entry of format \(format)")
        }
        rules = try reader.integer()
        guard rules > 0 else { throw RepriseError(.malformed, "Rules are numbered from 1.") }
        guard !hasCommands || rules <= Self.rules else {
            throw Self.unknown("an entry of rules \(rules)")
        }
        session = try reader.integer()
        n = try reader.integer()
        clock = try reader.time()
        base = JournalPosition(
            sequence: try reader.integer(), digest: JournalDigest(bytes: try reader.raw(32)))
        let count = try reader.integer()
        guard (1...Int64(ClusterLimits.entryCommands)).contains(count) else {
            throw RepriseError(.malformed, "An entry has \(count) commands.")
        }
        commands = []
        if hasCommands {
            for _ in 0..<count { commands.append(try ClusterCommand(&reader)) }
            try reader.expectEnd()
        }
        guard session >= 0, n > 0, base.sequence >= 0 else {
            throw RepriseError(.malformed, "An entry's numbers are not negative.")
        }
        guard hasCommands else { return }
        let opening = commands.count { if case .session = $0 { true } else { false } }
        guard opening == (session == 0 ? 1 : 0), session > 0 || commands.count == 1 else {
            throw RepriseError(.malformed, "A session is opened by an entry that does only that.")
        }
    }

    /// What a later version has written.
    static func unknown(_ what: String) -> RepriseError {
        RepriseError(
            .unknownKind, "The journal has \(what), which this version does not know.",
            remedy: "Upgrade this gateway.")
    }
}
