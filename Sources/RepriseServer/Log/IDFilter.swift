import RepriseCore

/// A Bloom filter over a run's ids, with all bits of an id in one word.
///
/// It is stored, so the hash must be the same in every process. Forged ids that hit all filters
/// slow down only their own publishes.
package struct IDFilter: Sendable {
    /// 16 bits per id of a full run: about four false positives in a thousand.
    package static let wordCount = KnownIDs.runLength / 4
    /// 8 bits, for the ids that the first filter lets through: about one in thirty.
    package static let secondWordCount = KnownIDs.runLength / 8

    private(set) var words: [UInt64]

    /// - Parameter wordCount: a power of two.
    package init(wordCount: Int) { words = [UInt64](repeating: 0, count: wordCount) }

    /// Reads the result of ``bytes``.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if the bytes are not such a filter's.
    init(wordCount: Int, _ bytes: [UInt8]) throws(RepriseError) {
        guard bytes.count == wordCount * 8 else {
            throw RepriseError(.corrupt, "A filter of the log's ids is damaged.")
        }
        words = bytes.withUnsafeBytes { bytes in
            (0..<wordCount).map {
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
            }
        }
    }

    /// The words, in big-endian order.
    var bytes: [UInt8] { words.map(\.bigEndian).withUnsafeBytes { Array($0) } }

    /// FNV-1a, then a mix that spreads its weak low bits.
    static func hash(_ id: EntryID) -> UInt64 {
        var text = id.text
        var hash = text.withUTF8 { bytes in
            bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, byte in
                (hash ^ UInt64(byte)) &* 0x100_0000_01b3
            }
        }
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }

    /// For the second filter, so that its word and bits do not follow from those of the first.
    package static func secondHash(_ hash: UInt64) -> UInt64 {
        let product = hash &* 0x9e37_79b9_7f4a_7c15
        return product ^ product >> 32
    }

    package mutating func insert(_ hash: UInt64) {
        words[Self.word(hash, of: words.count)] |= Self.mask(hash)
    }

    func mayContain(_ hash: UInt64) -> Bool {
        let mask = Self.mask(hash)
        return words[Self.word(hash, of: words.count)] & mask == mask
    }

    /// The index of an id's word.
    package static func word(_ hash: UInt64, of wordCount: Int) -> Int {
        Int(truncatingIfNeeded: hash) & (wordCount - 1)
    }

    /// Five of the word's bits, from the 30 high bits of the hash.
    package static func mask(_ hash: UInt64) -> UInt64 {
        1 << (hash >> 34 & 63) | 1 << (hash >> 40 & 63) | 1 << (hash >> 46 & 63)
            | 1 << (hash >> 52 & 63) | 1 << (hash >> 58)
    }
}
