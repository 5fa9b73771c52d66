import RepriseCore

/// A Bloom filter over a run's ids, with all bits of an id in one word.
///
/// It is stored, so the hash must be the same in every process. Forged ids that hit all filters
/// slow down only their own publishes.
struct IDFilter: Hashable, Sendable {
    /// 16 bits per id of a full run: about four false positives in a thousand.
    private static let wordCount = KnownIDs.runLength / 4

    private var words: [UInt64]

    init() { words = [UInt64](repeating: 0, count: Self.wordCount) }

    /// Reads the result of ``bytes``.
    ///
    /// - Returns: nil if the bytes are not a filter's.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.wordCount * 8 else { return nil }
        words = bytes.withUnsafeBytes { bytes in
            (0..<Self.wordCount).map {
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
            }
        }
    }

    /// The words, in big-endian order.
    var bytes: [UInt8] { words.map(\.bigEndian).withUnsafeBytes { Array($0) } }

    /// FNV-1a, then a mix that spreads its weak low bits.
    static func hash(_ id: EntryID) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in id.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }

    mutating func insert(_ hash: UInt64) { words[Self.word(hash)] |= Self.mask(hash) }

    func mayContain(_ hash: UInt64) -> Bool {
        let mask = Self.mask(hash)
        return words[Self.word(hash)] & mask == mask
    }

    private static func word(_ hash: UInt64) -> Int { Int(hash % UInt64(wordCount)) }

    /// Five of the word's bits, from the 30 high bits of the hash.
    private static func mask(_ hash: UInt64) -> UInt64 {
        1 << (hash >> 34 & 63) | 1 << (hash >> 40 & 63) | 1 << (hash >> 46 & 63)
            | 1 << (hash >> 52 & 63) | 1 << (hash >> 58)
    }
}
