import RepriseCore
import RepriseWire

/// Ids, names of channels, epochs: what is accepted can stand in a URL, a log line and a JSON text
/// as it is.
enum NameProperties {
    static func check(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let given = Array(text.utf8)
        let isID =
            (1...128).contains(given.count)
            && given.allSatisfy { (0x21...0x7e).contains($0) && $0 != 0x22 && $0 != 0x5c }
        let letters = Set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let isName =
            given.first.map(letters.contains) == true && given.count <= 128
            && given.allSatisfy { letters.contains($0) || Array("._:-".utf8).contains($0) }
        try same(isID, text, .badID) { try EntryID(text).text }
        try same(isName, text, .badChannelName) { try ChannelName(text).text }
        try same(isName && given.count <= 64, text, .malformed) { try Epoch(text).text }
    }

    private static func same(
        _ isGood: Bool, _ text: String, _ code: RepriseError.Code, _ make: () throws -> String
    ) throws {
        do {
            let made = try make()
            try hold(isGood, "accepted, but breaks the rule")
            try hold(Array(made.utf8) == Array(text.utf8), "changed")
            try JSONScanner.validate(Array("\"\(made)\"".utf8))
        } catch let error as RepriseError {
            try hold(!isGood, "refused, but keeps the rule")
            try hold(error.code == code, "refused with \(error)")
        }
    }
}
