package import RepriseCore

/// Names what the system's networking reports, for the dialer and the transport.
package enum URLFailure {
    /// The error of a request that was not answered.
    ///
    /// - Parameters:
    ///   - code: of the `URLError`.
    ///   - cause: the `URLError`.
    /// - Returns: an error of Reprise's, or `CancellationError`.
    package static func unanswered(_ code: Int, cause: any Error) -> any Error {
        switch code {
        case -999: CancellationError()
        case -1_001:
            RepriseError(.timedOut, "The server did not answer in time.", cause: cause)
        // From secureConnectionFailed to clientCertificateRequired.
        case -1_206 ... -1_200:
            RepriseError(
                .untrusted, "The server does not prove who it is.",
                remedy: "Its certificate needs a trusted authority, the host's name and a date.",
                cause: cause)
        case -1_022:
            RepriseError(
                .badConfiguration, "The system connects to this server over TLS alone.",
                remedy: "Write https://, or an exception under NSAppTransportSecurity.",
                cause: cause)
        default:
            RepriseError(
                .unreachable, "No server answers.", remedy: "Check the address and the network.",
                cause: cause)
        }
    }

    /// The error of a WebSocket that was answered and not opened.
    ///
    /// - Parameter status: of the HTTP response.
    /// - Returns: `.unavailable` where another attempt can succeed, or `.notReprise`.
    package static func refused(_ status: Int) -> RepriseError {
        switch status {
        case 429, 502, 503, 504:
            RepriseError(
                .unavailable, "The server cannot take us now (\(status)).",
                remedy: "Try again later.")
        default:
            RepriseError(
                .notReprise,
                "What answers is not a Reprise server: it answered \(status) and did not upgrade.")
        }
    }

    /// The code of the peer's close frame.
    ///
    /// - Parameter code: of the system; 1005 stands for a frame without one.
    /// - Returns: nil for the codes that no frame carries (RFC 6455 §7.4.1): 0, 1006, 1015.
    package static func peerCode(_ code: Int) -> UInt16? {
        [1_006, 1_015].contains(code) || code <= 0 ? nil : UInt16(exactly: code)
    }
}
