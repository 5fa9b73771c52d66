import Foundation
import RepriseTesting

/// What a medium may do to a file: drawn from a seed.
struct Damage: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case truncated, flipped, zeroed, garbled
    }

    let kind: Kind
    let isInLog: Bool
    /// Everything before it is as it was.
    private(set) var firstByte = 0

    /// Damages the database, or the write-ahead log if there is one.
    init(database: URL, using random: inout SeededGenerator) throws {
        let log = URL(fileURLWithPath: database.path + "-wal")
        let logBytes = (try? Data(contentsOf: log).count) ?? 0
        isInLog = logBytes > 0 && random.chance(0.6)
        kind = Kind.allCases[Int.random(in: 0..<Kind.allCases.count, using: &random)]
        let url = isInLog ? log : database
        var bytes = [UInt8](try Data(contentsOf: url))
        apply(to: &bytes, using: &random)
        try Data(bytes).write(to: url)
    }

    private mutating func apply(to bytes: inout [UInt8], using random: inout SeededGenerator) {
        // Half of all damage in the first pages, which hold what everything else hangs on.
        let reach = random.chance(0.5) ? min(bytes.count, 12_288) : bytes.count
        firstByte = Int.random(in: 0..<reach, using: &random)
        let length = min(1 << Int.random(in: 0...12, using: &random), bytes.count - firstByte)
        switch kind {
        case .truncated: bytes.removeSubrange(firstByte...)
        case .flipped:
            let count = Int.random(in: 1...16, using: &random)
            let places = (0..<count).map { _ in Int.random(in: 0..<reach, using: &random) }
            for place in places { bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
            firstByte = places.min() ?? 0
        case .zeroed: for index in firstByte..<(firstByte + length) { bytes[index] = 0 }
        case .garbled:
            for index in firstByte..<(firstByte + length) {
                bytes[index] = UInt8.random(in: 0...255, using: &random)
            }
        }
    }
}
