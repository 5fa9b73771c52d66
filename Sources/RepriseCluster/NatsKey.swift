import Crypto
import Foundation
import RepriseCore

/// Keys of NATS: Ed25519 in base32, with a kind before and a checksum behind.
///
/// The library wants the public key beside the file with the seed. The form is
/// <https://github.com/nats-io/nkeys>: a seed has two bytes of kind, a public key one; the checksum
/// is CRC-16/XMODEM, its low byte first.
enum NatsKey {
    /// The public key of the first seed in a file.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    static func publicKey(ofSeedIn file: String) throws -> String {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8),
            let seed = text.split(whereSeparator: \.isWhitespace).first(where: {
                $0.hasPrefix("SU")
            }), let key = publicKey(ofSeed: String(seed))
        else {
            throw RepriseError(
                .badConfiguration, "\(file) has no seed of a user's key for NATS.",
                remedy: "It begins with SU; `nk -gen user` makes one.")
        }
        return key
    }

    static func publicKey(ofSeed seed: String) -> String? {
        guard let bytes = decode(seed), bytes.count == 36,
            checksum(bytes.dropLast(2)) == UInt16(bytes[34]) | UInt16(bytes[35]) << 8,
            let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes[2..<34])
        else { return nil }
        // The kind is spread over the two bytes.
        let kind = (bytes[0] & 7) << 5 | bytes[1] >> 3
        let content = [kind] + Array(key.publicKey.rawRepresentation)
        let sum = checksum(content[...])
        return encode(content + [UInt8(sum & 0xff), UInt8(sum >> 8)])
    }

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    private static func decode(_ text: String) -> [UInt8]? {
        var (bytes, value, bits) = ([UInt8](), UInt32(0), 0)
        for letter in text.utf8 {
            guard let digit = letters.firstIndex(of: letter) else { return nil }
            value = (value << 5 | UInt32(digit)) & 0xffff
            bits += 5
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(bits)))
        }
        return bytes
    }

    private static func encode(_ bytes: [UInt8]) -> String {
        var (text, value, bits) = ([UInt8](), UInt32(0), 0)
        for byte in bytes {
            value = (value << 8 | UInt32(byte)) & 0xffff
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(letters[Int(value >> UInt32(bits) & 31)])
            }
        }
        if bits > 0 { text.append(letters[Int(value << UInt32(5 - bits) & 31)]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in
                sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021
            }
        }
    }
}
