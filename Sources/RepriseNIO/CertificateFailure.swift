import Foundation
import NIOCore
import NIOSSL
import RepriseCore

/// Explains the fault of a server's certificate, as far as it can be known.
enum CertificateFailure {
    /// - Returns: nil for an error that is not about TLS.
    static func explain(
        _ error: any Error, _ context: ChannelHandlerContext, _ endpoint: Endpoint
    ) -> RepriseError? {
        switch error {
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return untrusted(
                endpoint, "its certificate is for another name",
                remedy: "Use the name that the certificate is for.", error)
        case NIOSSLError.handshakeFailed:
            let certificate = try? context.pipeline.syncOperations
                .handler(type: NIOSSLClientHandler.self).peerCertificate
            guard let certificate, "\(error)".contains("CERTIFICATE_VERIFY_FAILED") else {
                return RepriseError(
                    .unreachable, "\(endpoint) does not speak TLS as we do.",
                    remedy: "If it speaks none, use http:// instead of https://.", cause: error)
            }
            return verification(of: certificate, endpoint, error)
        default: return nil
        }
    }

    /// The same after the connection is gone: then the certificate cannot be inspected.
    ///
    /// - Returns: nil for an error that is not about TLS.
    static func explain(_ error: any Error, _ endpoint: Endpoint) -> RepriseError? {
        switch error {
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return untrusted(
                endpoint, "its certificate is for another name",
                remedy: "Use the name that the certificate is for.", error)
        case NIOSSLError.handshakeFailed where "\(error)".contains("CERTIFICATE_VERIFY_FAILED"):
            return untrusted(
                endpoint, "its certificate is not one to trust here",
                remedy: "If you know whose it is, name that authority's certificate.", error)
        case is NIOSSLError:
            return RepriseError(
                .unreachable, "\(endpoint) does not speak TLS as we do.",
                remedy: "If it speaks none, use http:// instead of https://.", cause: error)
        default: return nil
        }
    }

    private static func verification(
        of certificate: NIOSSLCertificate, _ endpoint: Endpoint, _ error: any Error
    ) -> RepriseError {
        let now = time_t(Date().timeIntervalSince1970)
        if certificate.notValidAfter < now {
            return untrusted(
                endpoint, "its certificate has ended",
                remedy: "The server needs a new one; or this machine's clock is wrong.", error)
        }
        if certificate.notValidBefore > now {
            return untrusted(
                endpoint, "its certificate does not count yet",
                remedy: "Look at this machine's clock.", error)
        }
        return untrusted(
            endpoint, "nobody that is trusted here vouches for its certificate",
            remedy: "If you know who does, name that authority's certificate.", error)
    }

    private static func untrusted(
        _ endpoint: Endpoint, _ why: String, remedy: String, _ error: any Error
    ) -> RepriseError {
        RepriseError(
            .untrusted, "\(endpoint) does not prove who it is: \(why).", remedy: remedy,
            cause: error)
    }
}
