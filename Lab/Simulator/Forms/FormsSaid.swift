import Foundation
import RepriseCore

/// What a page says, not yet made a text of.
struct FormsSaid {
    var session: String
    var number: Int64
    var type: String
    var members: String

    var text: [UInt8] {
        Array(#"{"type":"\#(type)","session":"\#(session)","n":\#(number),\#(members)}"#.utf8)
    }
}

extension SeededRandom {
    /// 32 hexadecimal digits.
    mutating func hexadecimal() -> String {
        [next(), next()].map { value in
            let text = String(value, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
    }
}
