import Crypto
package import RepriseCore

/// What identifies a journal up to an entry: a SHA-256 over that entry and the digest before it.
package struct JournalDigest: Hashable, Sendable {
    /// 32 bytes.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Before the first entry.
    package static let zero = JournalDigest(bytes: [UInt8](repeating: 0, count: 32))

    /// The digest after one more entry, as the journal has it.
    package func appending(_ entry: StoredEntry) -> JournalDigest {
        var head = BinaryWriter()
        head.writeRaw(bytes)
        head.write(entry.sequence)
        head.write(entry.stamp)
        var hash = SHA256()
        hash.update(data: head.bytes)
        hash.update(data: entry.bytes)
        return JournalDigest(bytes: Array(hash.finalize()))
    }
}

/// A place in the journal, and what stands up to it.
package struct JournalPosition: Hashable, Sendable {
    package var sequence: Int64
    package var digest: JournalDigest

    package init(sequence: Int64, digest: JournalDigest) {
        (self.sequence, self.digest) = (sequence, digest)
    }

    /// Before the first entry.
    package static let start = JournalPosition(sequence: 0, digest: .zero)
}

/// An entry as the journal stores it.
package struct StoredEntry: Hashable, Sendable {
    /// From 1, without holes.
    package var sequence: Int64
    /// The time at which the journal stored it, by the clock of its leader: neither monotone nor
    /// trustworthy.
    package var stamp: WallTime
    package var bytes: [UInt8]

    package init(sequence: Int64, stamp: WallTime, bytes: [UInt8]) {
        (self.sequence, self.stamp, self.bytes) = (sequence, stamp, bytes)
    }
}
