import Crypto
import Foundation

/// The names of half-written files: hidden, and of one task each, so that two tasks with the same
/// destination never write into one file.
enum PartName {
    private static let (prefix, suffix) = (".reprise-", ".part")

    static func of(_ key: String) -> String {
        let digest = SHA256.hash(data: Array(key.utf8))
        return prefix + Hex.text(digest.prefix(16)) + suffix
    }

    static func isOne(_ name: String) -> Bool { name.hasPrefix(prefix) && name.hasSuffix(suffix) }
}

/// Bytes as digits.
enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
