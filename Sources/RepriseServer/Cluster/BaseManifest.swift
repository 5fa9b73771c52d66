import Crypto
package import RepriseCore

/// What a base is: the copy of a view at a mark, in pieces.
///
/// It is written last, once a second gateway had the same: a base without one does not count, and
/// of several the newest does.
package struct BaseManifest: Hashable, Sendable {
    /// The layout of a manifest.
    static let format: UInt8 = 1

    /// Up to and with the mark.
    package var position: JournalPosition
    /// The journal's time there.
    package var time: WallTime
    /// The rules by which it was made.
    package var rules: Int64
    /// Of the view's content: see ``ViewContent``.
    package var content: [UInt8]
    /// The bytes of the copy.
    package var bytes: Int64 = 0
    /// The SHA-256 of each piece.
    package var pieces: [[UInt8]] = []

    package var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.write(Self.format)
        writer.write(rules)
        writer.write(position.sequence)
        writer.writeRaw(position.digest.bytes)
        writer.write(time)
        writer.writeRaw(content)
        writer.write(bytes)
        writer.write(Int64(pieces.count))
        for piece in pieces { writer.writeRaw(piece) }
        return writer.bytes
    }

    package init(position: JournalPosition, time: WallTime, content: [UInt8]) {
        (self.position, self.time, self.content) = (position, time, content)
        rules = ClusterEntry.rules
    }

    /// Takes the next piece.
    package mutating func append(_ piece: [UInt8]) {
        pieces.append(Self.hash(piece))
        bytes += Int64(piece.count)
    }

    /// Whether these are the bytes of a piece.
    package func hasPiece(_ bytes: [UInt8], at number: Int) -> Bool {
        Self.hash(bytes) == pieces[number]
    }

    private static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// - Throws: ``RepriseCore/RepriseError`` `.unknownKind` for a later version's, `.malformed`.
    package init(_ bytes: [UInt8]) throws {
        var reader = BinaryReader(bytes)
        let format = try reader.byte()
        rules = try reader.integer()
        guard format == Self.format, rules <= ClusterEntry.rules else {
            throw RepriseError(
                .unknownKind, "The journal's base is of a later version.",
                remedy: "Upgrade this gateway.")
        }
        position = JournalPosition(
            sequence: try reader.integer(), digest: JournalDigest(bytes: try reader.raw(32)))
        time = try reader.time()
        content = try reader.raw(32)
        self.bytes = try reader.integer()
        pieces = try reader.list { try $0.raw(32) }
        try reader.expectEnd()
    }
}
