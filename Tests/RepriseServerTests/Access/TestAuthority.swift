import Foundation
import JWTKit
import RepriseServer
import RepriseTesting
import SwiftASN1
import X509

/// An authority of a test's own, and the certificates that it makes.
struct TestAuthority {
    let folder: TemporaryFolder
    private let key: Certificate.PrivateKey
    private let certificate: Certificate
    private let name: DistinguishedName

    init() throws {
        folder = try TemporaryFolder()
        key = try Self.newKey()
        name = try DistinguishedName { CommonName("Reprise test authority") }
        certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
            notValidBefore: Date().addingTimeInterval(-86_400 * 30),
            notValidAfter: Date().addingTimeInterval(86_400 * 30), issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            }, issuerPrivateKey: key)
        try write(certificate.serializeAsPEM().pemString, "authority.pem")
    }

    /// The path of the authority's own certificate.
    var path: String { folder.url.appendingPathComponent("authority.pem").path }

    /// Makes a certificate for names, from one day of now to another, and its key.
    func certify(
        _ names: [String] = ["localhost"], address: [UInt8]? = [127, 0, 0, 1],
        days: ClosedRange<Double> = -1...20, as file: String = "server"
    ) throws -> TLSFiles {
        let own = try Self.newKey()
        let all =
            names.map { GeneralName.dnsName($0) }
            + (address.map { [.ipAddress(ASN1OctetString(contentBytes: $0[...]))] } ?? [])
        let made = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: own.publicKey,
            notValidBefore: Date().addingTimeInterval(days.lowerBound * 86_400),
            notValidAfter: Date().addingTimeInterval(days.upperBound * 86_400), issuer: name,
            subject: try DistinguishedName { CommonName(file) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                SubjectAlternativeNames(all)
            }, issuerPrivateKey: key)
        return TLSFiles(
            certificate: try write(made.serializeAsPEM().pemString, file + ".pem"),
            key: try write(own.serializeAsPEM().pemString, file + ".key"))
    }

    @discardableResult
    private func write(_ text: String, _ file: String) throws -> String {
        let url = folder.url.appendingPathComponent(file)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    private static func newKey() throws -> Certificate.PrivateKey {
        try Certificate.PrivateKey(pemEncoded: ES256PrivateKey().pemRepresentation)
    }
}
