import Foundation
import RepriseCore

/// An open file, closed with its last reference; its calls block.
final class OpenFile: Sendable {
    private let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    func facts() throws -> FileFacts {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else {
            throw WorkerFailure.system(errno, "look at a file")
        }
        return FileFacts(facts)
    }

    /// - Returns: fewer than `count` bytes only at the end.
    func read(_ count: Int, at position: Int64) throws -> [UInt8] {
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = pread(
                    descriptor, buffer.baseAddress?.advanced(by: filled), count - filled,
                    off_t(position) + off_t(filled))
                if got < 0, errno == EINTR { continue }
                if got < 0 { number = errno }
                guard got > 0 else { return }
                filled += got
            }
        }
        guard number == 0 else { throw WorkerFailure.system(number, "read a file") }
        return bytes
    }

    func write(_ bytes: [UInt8], at position: Int64) throws {
        var written = 0
        while written < bytes.count {
            let start = written
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(
                    descriptor, buffer.baseAddress?.advanced(by: start), buffer.count - start,
                    off_t(position) + off_t(start))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw WorkerFailure.system(errno, "write a file") }
            written += count
        }
    }

    func truncate(to size: Int64) throws {
        guard ftruncate(descriptor, off_t(size)) == 0 else {
            throw WorkerFailure.system(errno, "shorten a file")
        }
    }

    func sync() throws { try Self.sync(descriptor) }

    static func sync(_ descriptor: Int32) throws {
        #if canImport(Darwin)
            // fsync leaves the data in the drive's cache there.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw WorkerFailure.system(errno, "fsync") }
    }
}
