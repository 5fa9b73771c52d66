/// `case-catch-up`'s frames as text, as far as the case study shows them; the rest is spelt like
/// them.
package enum OriginalFrame {
    /// The original's own.
    static let channel = "giridih_id"

    package static func event(_ seq: Int) -> [UInt8] {
        Array(
            #"{"type":"event","channelId":"\#(channel)","seq":\#(seq),"body":"message \#(seq)"}"#
                .utf8)
    }

    /// `sendSubscription() with syncState`.
    package static func subscribe(from highest: Int) -> [UInt8] {
        Array(#"{"type":"subscribe","channelId":"\#(channel)","syncState":\#(highest)}"#.utf8)
    }

    /// The original's completion frame, without blanks: its client looks for
    /// `"type":"sync_complete"`.
    package static let syncComplete = Array(
        #"{"type":"sync_complete","channelId":"\#(channel)","catchUpComplete":true,"timestamp":1765869151000}"#
            .utf8)

    /// The number behind `key` in a frame that one of the functions above made.
    static func number(_ key: String, in frame: [UInt8]) -> Int? {
        guard let start = index(behind: Array("\"\(key)\":".utf8), in: frame) else { return nil }
        var number: Int?
        for byte in frame[start...] {
            guard (48...57).contains(byte) else { break }
            number = (number ?? 0) * 10 + Int(byte - 48)
        }
        return number
    }

    /// `text.contains(…)`, over bytes.
    static func contains(_ needle: [UInt8], in frame: [UInt8]) -> Bool {
        index(behind: needle, in: frame) != nil
    }

    private static func index(behind needle: [UInt8], in frame: [UInt8]) -> Int? {
        guard frame.count >= needle.count else { return nil }
        for start in 0...(frame.count - needle.count)
        where frame[start] == needle[0] && frame[start..<(start + needle.count)] == needle[...] {
            return start + needle.count
        }
        return nil
    }
}
