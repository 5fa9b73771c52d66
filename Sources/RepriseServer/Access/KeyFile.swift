import Foundation
package import Logging
import RepriseCore
import Synchronization

/// Keys from a file.
package final class KeyFile: KeyProviding {
    private let path: String
    private let logger: Logger
    private let keys: Mutex<KeySet>

    /// Opens a key file.
    ///
    /// - Parameters:
    ///   - path: its path; see ``KeySet/read(_:isPublished:)`` for its formats.
    ///   - logger: receives reloads.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    package init(_ path: String, logger: Logger) async throws {
        self.path = path
        self.logger = logger
        let keys = try await Self.read(path)
        self.keys = Mutex(keys)
        warnIfOthersRead(keys)
    }

    package func key(for header: TokenHeader) async throws -> SigningKey? {
        keys.withLock(\.self).key(for: header)
    }

    package func reload() async {
        do {
            let fresh = try await Self.read(path)
            keys.withLock { $0 = fresh }
            logger.notice("the keys were read again", metadata: ["keys": "\(fresh.keys.count)"])
            warnIfOthersRead(fresh)
        } catch {
            logger.error(
                "the new keys cannot be used: the old ones stay in use",
                metadata: ["error": "\(error)"])
        }
    }

    /// Reads a key file.
    package static func read(_ path: String) async throws -> KeySet {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw RepriseError(
                .badConfiguration, "The keys \(path) cannot be read.",
                remedy: "Check the path and its permissions.")
        }
        defer { try? handle.close() }
        let bytes: Data
        do {
            bytes = try handle.read(upToCount: AccessLimits.keyBytes + 1) ?? Data()
        } catch {
            throw RepriseError(.badConfiguration, "The keys \(path) cannot be read.", cause: error)
        }
        do {
            return try await KeySet.read(Array(bytes))
        } catch let error as RepriseError {
            throw RepriseError(
                error.code, "\(path): \(error.message)", remedy: error.remedy)
        }
    }

    private func warnIfOthersRead(_ keys: KeySet) {
        guard keys.keys.contains(where: \.canSign) else { return }
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
        guard mode & 0o077 != 0 else { return }
        logger.warning(
            "other users of this machine can read the keys and sign tokens with them: chmod 600",
            metadata: ["file": "\(path)"])
    }
}
