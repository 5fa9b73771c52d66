import Foundation
import RepriseCore
import RepriseWire

/// The hand-written scanner beside Foundation's.
enum JSONProperties {
    static func check(_ bytes: [UInt8]) throws {
        let isOurs: Bool
        do {
            try JSONScanner.validate(bytes)
            isOurs = true
        } catch let error as RepriseError {
            try hold(error.code == .malformed, "refused with \(error)")
            isOurs = false
        }
        let theirs = try? JSONSerialization.jsonObject(
            with: Data(bytes), options: .fragmentsAllowed)
        guard isOurs else {
            try hold(
                theirs == nil || isStricterHere(bytes), "refused here, accepted by Foundation")
            return
        }
        guard let theirs else {
            return try hold(isBeyondFoundation(bytes), "accepted here, refused by Foundation")
        }
        guard !hasMark(bytes) else { return }
        try bytes.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            try compare(try scanner.value(), in: scanner, with: theirs)
        }
    }

    /// What the scanner refuses beyond the RFC, and what Foundation takes beyond it: other
    /// encodings, a comma at the end.
    private static func isStricterHere(_ bytes: [UInt8]) -> Bool {
        bytes.contains(0) || bytes.starts(with: [0xef, 0xbb, 0xbf])
            || bytes.starts(with: [0xfe, 0xff]) || bytes.starts(with: [0xff, 0xfe])
            || depth(bytes) > WireLimits.nestingDepth
            || String(decoding: bytes, as: UTF8.self).range(
                of: #"\\u[dD][89a-fA-F]|,\s*[\]}]"#, options: .regularExpression) != nil
    }

    /// Byte order marks: Foundation drops one that begins a string or a key.
    static func hasMark(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).unicodeScalars.contains("\u{feff}")
    }

    /// Numbers that no Double holds: JSON by the grammar, but not to Foundation.
    static func isBeyondFoundation(_ bytes: [UInt8]) -> Bool {
        bytes.contains { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
            || bytes.split(whereSeparator: { !(0x30...0x39).contains($0) })
                .contains { $0.count > 300 }
    }

    /// How deep brackets nest, those in strings not counted.
    private static func depth(_ bytes: [UInt8]) -> Int {
        var depth = 0
        var most = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                isEscaped = false
            } else if isInString {
                if byte == UInt8(ascii: "\\") { isEscaped = true }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
                default: break
                }
                most = max(most, depth)
            }
        }
        return most
    }

    private static func compare(
        _ value: JSONScanner.Value, in scanner: JSONScanner, with other: Any
    ) throws {
        let text = [UInt8](scanner.raw(value))
        switch value.kind {
        case .string:
            let ours = Array(try scanner.string(value).utf8)
            try hold((other as? String).map { Array($0.utf8) } == ours, "a string reads otherwise")
        case .number:
            guard let ours = try? scanner.integer(value), let number = other as? NSNumber,
                // Beyond that Foundation may hold a Double, which is no mistake of ours.
                ours.magnitude <= 9_007_199_254_740_992
            else { return }
            try hold(number.int64Value == ours, "\(ours) reads as \(number)")
        case .literal:
            let word = String(decoding: text, as: UTF8.self)
            let theirs = other is NSNull ? "null" : (other as? Bool).map { "\($0)" }
            try hold(theirs == word, "\(word) reads as \(other)")
        case .array: try compareArray(text, with: other)
        case .object: try compareObject(text, with: other)
        }
    }

    private static func compareArray(_ text: [UInt8], with other: Any) throws {
        let elements = other as? [Any]
        try text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            let outer = scanner
            var count = 0
            try scanner.array { element in
                try hold(count < elements?.count ?? 0, "an element that nobody else sees")
                if let theirs = elements?[count] { try compare(element, in: outer, with: theirs) }
                count += 1
            }
            try hold(count == elements?.count, "\(count) elements here")
        }
    }

    private static func compareObject(_ text: [UInt8], with other: Any) throws {
        let fields = other as? [String: Any]
        try text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            let outer = scanner
            var members: [(key: String, value: JSONScanner.Value)] = []
            try scanner.object { members.append((try outer.string($0), $1)) }
            // Keys that are there twice: nobody promises which one counts.
            guard let fields, fields.count == members.count else {
                return try hold(fields?.count ?? .max < members.count, "members are missing")
            }
            for (key, value) in members {
                guard let theirs = fields[key] else {
                    throw BrokenProperty(description: "the key \(key) is only here")
                }
                try compare(value, in: outer, with: theirs)
            }
        }
    }
}
