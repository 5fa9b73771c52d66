import NIOCore
import NIOSSL
import RepriseCore
import Synchronization

/// The certificates that a dialer trusts; the roots are read once, at the first dial that needs
/// them.
final class TrustedServers: Sendable {
    private let authorities: String?
    private let known = Mutex<NIOSSLContext?>(nil)

    /// - Parameter authorities: the path of a PEM file, besides the system's certificates.
    init(authorities: String?) { self.authorities = authorities }

    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    func context() throws -> NIOSSLContext {
        try known.withLock { known in
            if let known { return known }
            let context = try make()
            known = context
            return context
        }
    }

    /// The configuration of a client that makes its own connections; the roots are read each time.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    func configuration() throws -> TLSConfiguration {
        do { return try settings() } catch { throw unusable(error) }
    }

    private func make() throws -> NIOSSLContext {
        do {
            var configuration = try settings()
            configuration.applicationProtocols = ["http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw unusable(error)
        }
    }

    private func settings() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .fullVerification
        if let authorities {
            configuration.additionalTrustRoots = [
                .certificates(try NIOSSLCertificate.fromPEMFile(authorities))
            ]
        }
        return configuration
    }

    private func unusable(_ error: any Error) -> RepriseError {
        RepriseError(
            .badConfiguration,
            "The authorities \(authorities ?? "of this system") cannot be used.",
            remedy: "Give a file with certificates in PEM.", cause: error)
    }
}

extension Endpoint {
    /// The name that the certificate must have, and that TLS tells the server (RFC 6066 §3); nil
    /// for an address, which is compared separately.
    var certifiedName: String? {
        let isAddress = (try? SocketAddress(ipAddress: host, port: port)) != nil
        return isAddress ? nil : host
    }
}
