import Foundation
package import Logging
import NIOCore
package import NIOSSL
import RepriseCore
import Synchronization

/// What a server proves itself with; it can be read again while connections go on.
///
/// A connection keeps the context that it shook hands with.
package final class ServerCertificate: Sendable {
    private let files: TLSFiles
    private let logger: Logger
    private let context: Mutex<NIOSSLContext>

    /// Reads a certificate and its key.
    ///
    /// - Parameters:
    ///   - files: where they are.
    ///   - logger: is told when they are read, and when the certificate ends.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, saying which file is wrong and
    ///   how.
    package init(_ files: TLSFiles, logger: Logger) throws {
        self.files = files
        self.logger = logger
        let (context, ends) = try Self.read(files)
        self.context = Mutex(context)
        tell(ends)
    }

    /// What the next handshake uses.
    package var current: NIOSSLContext { context.withLock(\.self) }

    /// Reads the files again; if they cannot be used the old certificate stays.
    package func reload() {
        do {
            let (fresh, ends) = try Self.read(files)
            context.withLock { $0 = fresh }
            logger.notice("the certificate was read again")
            tell(ends)
        } catch {
            logger.error(
                "the old certificate stays: the new one cannot be used",
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

    /// A certificate that ends unnoticed ends the service.
    private func tell(_ ends: Date) {
        let days = Int(ends.timeIntervalSinceNow / 86_400)
        guard days < 14 else { return }
        logger.warning(
            ends < Date() ? "the certificate has ended" : "the certificate ends soon",
            metadata: ["days": "\(days)"])
    }
}
