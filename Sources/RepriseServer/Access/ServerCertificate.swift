import Foundation
package import Logging
import NIOCore
package import NIOSSL
import RepriseCore
import Synchronization

/// A server's certificate; it can be reloaded while connections continue.
///
/// A connection keeps the context of its handshake.
package final class ServerCertificate: Sendable {
    private let files: TLSFiles
    private let logger: Logger
    private let context: Mutex<NIOSSLContext>

    /// Reads a certificate and its key.
    ///
    /// - Parameters:
    ///   - files: their paths.
    ///   - logger: receives each load, and the certificate's end.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, with the file and its fault.
    package init(_ files: TLSFiles, logger: Logger) throws {
        self.files = files
        self.logger = logger
        let (context, ends) = try Self.read(files)
        self.context = Mutex(context)
        tell(ends)
    }

    /// The context of the next handshake.
    package var current: NIOSSLContext { context.withLock(\.self) }

    /// Reloads the files; if they are unusable the old certificate stays.
    package func reload() {
        do {
            let (fresh, ends) = try Self.read(files)
            context.withLock { $0 = fresh }
            logger.notice("the certificate was read again")
            tell(ends)
        } catch {
            logger.error(
                "the new certificate cannot be used: the old one stays in use",
                metadata: ["error": "\(error)"])
        }
    }

    private static func read(_ files: TLSFiles) throws -> (NIOSSLContext, ends: Date) {
        let chain = try step(files.certificate, "is no certificate in PEM") {
            try NIOSSLCertificate.fromPEMFile(files.certificate)
        }
        guard let leaf = chain.first else {
            throw RepriseError(
                .badConfiguration, "\(files.certificate) holds no certificate in PEM.")
        }
        let key = try step(files.key, "is no private key in PEM, or has a password") {
            try NIOSSLPrivateKey(file: files.key, format: .pem)
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        let context = try step(files.key, "is not the key of \(files.certificate)") {
            try NIOSSLContext(configuration: configuration)
        }
        return (context, Date(timeIntervalSince1970: TimeInterval(leaf.notValidAfter)))
    }

    private static func step<T>(
        _ path: String, _ what: String, _ body: () throws -> T
    ) throws -> T {
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw RepriseError(
                .badConfiguration, "\(path) cannot be read.",
                remedy: "Check the path and its permissions.")
        }
        do {
            return try body()
        } catch {
            throw RepriseError(
                .badConfiguration, "\(path) \(what).",
                remedy: "Give --tls-cert and --tls-key what belongs together.", cause: error)
        }
    }

    /// Logs the certificate's end, so that it does not end unnoticed.
    private func tell(_ ends: Date) {
        let days = Int(ends.timeIntervalSinceNow / 86_400)
        guard days < 14 else { return }
        logger.warning(
            ends < Date() ? "the certificate has expired" : "the certificate expires soon",
            metadata: ["days": "\(days)"])
    }
}
