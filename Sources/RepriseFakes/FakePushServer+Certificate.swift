import Crypto
public import Foundation
import SwiftASN1
import X509

extension FakePushServer.Certificate {
    /// Makes a certificate for `localhost` that is trusted only by readers of the file, and its
    /// key.
    ///
    /// It is its own authority: give the path of ``certificate`` to the client that must trust it.
    ///
    /// - Parameter folder: the folder of the two files.
    /// - Returns: their paths.
    /// - Throws: the errors of writing a file.
    public static func make(in folder: URL) throws -> Self {
        let key = P256.Signing.PrivateKey()
        let signer = X509.Certificate.PrivateKey(key)
        let name = try DistinguishedName { CommonName("Reprise stand-in") }
        let made = try X509.Certificate(
            version: .v3, serialNumber: X509.Certificate.SerialNumber(),
            publicKey: signer.publicKey, notValidBefore: Date().addingTimeInterval(-86_400),
            notValidAfter: Date().addingTimeInterval(86_400), issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: X509.Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                SubjectAlternativeNames([.dnsName("localhost")])
            }, issuerPrivateKey: signer)
        let files = Self(
            certificate: folder.appendingPathComponent("stand-in.pem").path,
            key: folder.appendingPathComponent("stand-in.key").path)
        try Data(try made.serializeAsPEM().pemString.utf8).write(
            to: URL(fileURLWithPath: files.certificate))
        try Data(key.pemRepresentation.utf8).write(to: URL(fileURLWithPath: files.key))
        return files
    }
}
