/// Makes an input into another that is nearly as good: what libFuzzer does, without the coverage
/// that guides it.
struct InputMutation {
    let words: [[UInt8]]
    let others: [[UInt8]]

    mutating func mutate(
        _ bytes: [UInt8], most: Int, using random: inout some RandomNumberGenerator
    ) -> [UInt8] {
        var result = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) { step(&result, &random) }
        return Array(result.prefix(most))
    }

    private func step(_ bytes: inout [UInt8], _ random: inout some RandomNumberGenerator) {
        let start = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 0...24, using: &random))
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where start < bytes.count:
            bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1 where start < bytes.count: bytes[start] = UInt8.random(in: 0...255, using: &random)
        case 2: bytes.removeSubrange(start..<end)
        case 3: bytes.insert(contentsOf: Array(bytes[start..<end]), at: start)
        case 4: bytes.insert(contentsOf: words.randomElement(using: &random) ?? [], at: start)
        case 5:
            let word = words.randomElement(using: &random) ?? []
            bytes.replaceSubrange(start..<min(bytes.count, start + word.count), with: word)
        case 6:
            let other = others.randomElement(using: &random) ?? []
            let from = Int.random(in: 0...other.count, using: &random)
            bytes.replaceSubrange(start..., with: other[from...])
        default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: start)
        }
    }
}
