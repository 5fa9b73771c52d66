import NIOCore
import NIOSSL
import RepriseCore
import Synchronization

/// Whose certificates a dialer believes; the roots are read once, at the first dial that needs
/// them.
final class TrustedServers: Sendable {
    private let authorities: String?
    private let known = Mutex<NIOSSLContext?>(nil)

    /// - Parameter authorities: the path of certificates in PEM, beside those of the system.
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

    /// What a client that makes its own connections is told; the roots are read each time.
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
    /// What the certificate is asked for, and what TLS tells the server (RFC 6066 §3); nil for an
    /// address, which is compared by itself.
    var certifiedName: String? {
        let isAddress = (try? SocketAddress(ipAddress: host, port: port)) != nil
        return isAddress ? nil : host
    }
}
