import Foundation
import NIOCore
import NIOPosix
import RepriseCore

/// The content of a file, read as it is sent: as many bytes as the file had when it was opened, or
/// an error.
struct FileBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    private static let piece = 65_536

    let size: Int64
    private let source: Source
    private let timeout: IdleTimeout
    private let told: @Sendable (Int64) async -> Void

    /// - Parameters:
    ///   - url: the file.
    ///   - timeout: the timeout to start when a wait begins.
    ///   - told: called with the bytes sent so far, before more is read.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`: the file does not exist.
    init(
        _ url: URL, _ timeout: IdleTimeout, _ told: @escaping @Sendable (Int64) async -> Void
    ) throws {
        source = try Source(url)
        size = source.size
        self.timeout = timeout
        self.told = told
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    struct Iterator: AsyncIteratorProtocol {
        let body: FileBody
        private var sent: Int64 = 0

        init(body: FileBody) { self.body = body }

        mutating func next() async throws -> ByteBuffer? {
            // A request for more means that the previous bytes are sent.
            body.timeout.wait()
            if sent > 0 { await body.told(sent) }
            let want = Int(Swift.min(Int64(FileBody.piece), body.size - sent))
            guard want > 0 else { return nil }
            let (source, position) = (body.source, sent)
            let bytes = try await NIOThreadPool.singleton.runIfActive {
                try source.read(want, at: position)
            }
            sent += Int64(bytes.count)
            return ByteBuffer(bytes: bytes)
        }
    }

    /// An open file; closed with its last reference.
    private final class Source: Sendable {
        let size: Int64
        private let descriptor: Int32

        init(_ url: URL) throws {
            // A pipe without a writer would block here for ever.
            descriptor = open(url.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { throw Self.unreadable(errno) }
            var facts = stat()
            guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
                close(descriptor)
                throw Self.unreadable(EINVAL)
            }
            size = Int64(facts.st_size)
        }

        deinit { close(descriptor) }

        func read(_ count: Int, at position: Int64) throws -> [UInt8] {
            var got = 0
            var number: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
                got = pread(descriptor, buffer.baseAddress, count, off_t(position))
                number = errno
                initialized = Swift.max(got, 0)
            }
            if got < 0 { throw Self.unreadable(number) }
            guard got > 0 else {
                throw RepriseError(
                    .malformed, "The file became shorter while it was sent.",
                    remedy: "Send a file that nobody writes to.")
            }
            return bytes
        }

        private static func unreadable(_ number: Int32) -> RepriseError {
            RepriseError(
                .malformed,
                "The file to send cannot be read: \(String(cString: strerror(number))).",
                remedy: "Name a regular file that is there.")
        }
    }
}
