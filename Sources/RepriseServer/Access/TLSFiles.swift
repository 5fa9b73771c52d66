/// Where a server's certificate is.
public struct TLSFiles: Hashable, Sendable {
    /// The path of the certificate and those that vouch for it, in PEM, its own first.
    public var certificate: String
    /// The path of its private key, in PEM.
    public var key: String

    /// Names the files.
    ///
    /// - Parameters:
    ///   - certificate: the path of the certificate and those that vouch for it, in PEM, its own
    ///     first.
    ///   - key: the path of its private key, in PEM.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}
