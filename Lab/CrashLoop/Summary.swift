import RepriseWire

/// The result of a run as one line of JSON.
enum Summary {
    static func print(
        seed: UInt64, _ numbers: [(String, Int)], also counts: [String: [String: Int]] = [:],
        faults: [String]
    ) {
        var writer = JSONWriter()
        writer.object { json in
            json.key("seed")
            json.string("\(seed)")
            for (name, number) in numbers {
                json.key(plain: name)
                json.integer(Int64(number))
            }
            for (name, parts) in counts.sorted(by: { $0.key < $1.key }) {
                json.key(plain: name)
                json.object { json in
                    for (part, count) in parts.sorted(by: { $0.key < $1.key }) {
                        json.key(plain: part)
                        json.integer(Int64(count))
                    }
                }
            }
            json.key("faults")
            json.array { json in for fault in faults { json.string(fault) } }
        }
        Swift.print(String(decoding: writer.bytes, as: UTF8.self))
    }
}
