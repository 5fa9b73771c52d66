package import Crypto
import Foundation

/// Encrypts a message for one browser: `aes128gcm` (RFC 8188) with keys by RFC 8291.
package enum WebPushSeal {
    /// - Parameters:
    ///   - text: at most ``PushLimits/webPushPayloadBytes``: one record.
    ///   - subscription: the recipient's.
    ///   - ephemeral: a key used for this message only.
    ///   - salt: 16 random bytes.
    /// - Returns: the body of the request.
    /// - Throws: the errors of the ciphers.
    package static func seal(
        _ text: [UInt8], for subscription: WebPushSubscription,
        ephemeral: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        salt: [UInt8] = randomSalt()
    ) throws -> [UInt8] {
        let browser = try P256.KeyAgreement.PublicKey(x963Representation: subscription.key)
        let own = Array(ephemeral.publicKey.x963Representation)
        let input = try ephemeral.sharedSecretFromKeyAgreement(with: browser)
            .hkdfDerivedSymmetricKey(
                using: SHA256.self, salt: subscription.secret,
                sharedInfo: Array("WebPush: info\0".utf8) + subscription.key + own,
                outputByteCount: 32)
        let key = derived(input, salt, "Content-Encoding: aes128gcm\0", 16)
        let nonce = derived(input, salt, "Content-Encoding: nonce\0", 12)
        // 2 marks the last record, and only one exists.
        let box = try AES.GCM.seal(
            text + [2], using: key,
            nonce: AES.GCM.Nonce(data: nonce.withUnsafeBytes { Array($0) }))
        return salt + [0, 0, 0x10, 0x00, UInt8(own.count)] + own + box.ciphertext + box.tag
    }

    private static func derived(
        _ input: SymmetricKey, _ salt: [UInt8], _ info: String, _ count: Int
    ) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: input, salt: salt, info: Array(info.utf8), outputByteCount: count)
    }

    /// 16 bytes from the system's generator.
    package static func randomSalt() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in generator.next() }
    }
}
