/// The paths of a server's certificate and key.
public struct TLSFiles: Hashable, Sendable {
    /// The path of the certificate chain in PEM, the server's own first.
    public var certificate: String
    /// The path of its private key, in PEM.
    public var key: String

    /// Names the files.
    ///
    /// - Parameters:
    ///   - certificate: the path of the certificate chain in PEM, the server's own first.
    ///   - key: the path of its private key, in PEM.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}
