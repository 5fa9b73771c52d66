import RepriseCore

/// Says of an id that it is surely not in a run, or that it may be: a Bloom filter whose bits for one id lie in one cache line.
///
/// It is stored, so the hash must be the same in every process. An attacker who forges ids that hit all filters makes his own
/// publishes slow and nothing wrong.
struct IDFilter: Hashable, Sendable {
    /// 16 bits for each id of a full run: about one false "may be" in five hundred.
    static let byteCount = KnownIDs.runLength * 2
    private static let lines = UInt64(byteCount / 64)
    private static let bitsPerID = 5

    private(set) var bytes: [UInt8]

    init() { bytes = [UInt8](repeating: 0, count: Self.byteCount) }

    /// - Returns: nil if the bytes are not those of a filter.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// FNV-1a, then a mix that spreads its weak low bits.
    static func hash(_ id: EntryID) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in id.text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
        hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
        return hash ^ hash >> 31
    }

    mutating func insert(_ hash: UInt64) {
        let line = Self.line(hash)
        for turn in 0..<Self.bitsPerID {
            let bit = Self.bit(hash, turn)
            bytes[line + bit >> 3] |= 1 << UInt8(bit & 7)
        }
    }

    func mayContain(_ hash: UInt64) -> Bool {
        let line = Self.line(hash)
        for turn in 0..<Self.bitsPerID {
            let bit = Self.bit(hash, turn)
            if bytes[line + bit >> 3] & (1 << UInt8(bit & 7)) == 0 { return false }
        }
        return true
    }

    /// Where the 64 bytes of the line begin.
    private static func line(_ hash: UInt64) -> Int { Int(hash % lines) * 64 }

    /// One of the line's 512 bits, from the 45 high bits of the hash.
    private static func bit(_ hash: UInt64, _ turn: Int) -> Int {
        Int(hash >> UInt64(19 + 9 * turn) & 511)
    }
}
