import Crypto
import Foundation
import RepriseCore
import RepriseWire

/// The provider token for Apple, stored beside the log, so that a restarted server reuses it.
///
/// Apple answers a token within 20 minutes of another one with `TooManyProviderTokenUpdates`, also
/// after a restart. The file is an optimization: if it is missing or does not match, a token is
/// made.
struct APNsTokenFile: Sendable {
    /// A token, and its creation time by its own claims.
    struct Kept: Equatable {
        var text: String
        var issued: WallTime
    }

    private static let bytes = 4_096
    let path: String

    init(folder: String) { path = folder + "/apns-token" }

    /// The stored token, if this key has signed it for these names.
    func read(_ key: PushKey, keyID: String, teamID: String) -> Kept? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: Self.bytes) else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        guard let issued = Self.issued(text, key, keyID: keyID, teamID: teamID) else { return nil }
        return Kept(text: text, issued: issued)
    }

    /// The file is untrusted: anyone with write access to the folder can change it, so this key's
    /// signature is required.
    private static func issued(
        _ text: String, _ key: PushKey, keyID: String, teamID: String
    ) -> WallTime? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decoded(parts[0].utf8),
            let claims = Base64URL.decoded(parts[1].utf8),
            let signature = Base64URL.decoded(parts[2].utf8),
            let signed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.key.publicKey.isValidSignature(signed, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        let said = try? header.withUnsafeBufferPointer { try Envelope($0).string("kid") }
        return try? claims.withUnsafeBufferPointer { bytes in
            let claims = try Envelope(bytes)
            guard said == keyID, try claims.string("iss") == teamID else { return nil }
            return WallTime(milliseconds: try claims.sequence("iat") * 1_000)
        }
    }

    /// Stores a token, readable by this user alone.
    ///
    /// If that fails, the next process makes another.
    func write(_ text: String) {
        let draft = path + ".new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        let bytes = Array(text.utf8)
        let count = bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
        let isWhole = count == bytes.count && fsync(file) == 0
        close(file)
        if isWhole { rename(draft, path) } else { unlink(draft) }
    }

    /// Apple has refused it: a restart must make another.
    func remove() { unlink(path) }
}
