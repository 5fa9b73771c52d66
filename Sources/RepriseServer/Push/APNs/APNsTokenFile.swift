import Crypto
import Foundation
import RepriseCore
import RepriseWire

/// The token that says who we are to Apple, kept beside the log: a server that is started again
/// goes on with it.
///
/// Apple answers a token that comes within 20 minutes of another with
/// `TooManyProviderTokenUpdates`, and does not know that the other was made by a process that is
/// gone. The file is a convenience: without it, or with one that says something else, a token is
/// made.
struct APNsTokenFile: Sendable {
    /// A token, and when its own claims say that it was made.
    struct Kept: Equatable {
        var text: String
        var issued: WallTime
    }

    private static let bytes = 4_096
    let path: String

    init(folder: String) { path = folder + "/apns-token" }

    /// The token that was kept, if it is signed by this key and says these names.
    func read(_ key: PushKey, keyID: String, teamID: String) -> Kept? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: Self.bytes) else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        guard let issued = Self.issued(text, key, keyID: keyID, teamID: teamID) else { return nil }
        return Kept(text: text, issued: issued)
    }

    /// Whoever may write to the folder decides what is in the file, so nothing in it is believed
    /// that this key has not signed.
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

    /// Keeps a token, readable by this user alone.
    ///
    /// One that cannot be kept is made again after a start.
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

    /// Apple does not take it: whoever starts the server again, to mend that, is to have another.
    func remove() { unlink(path) }
}
