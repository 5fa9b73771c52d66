import Foundation

/// The reader of our output has closed it.
package struct BrokenPipe: Error, CustomStringConvertible {
    /// For people.
    package var description: String { "The reader of the output has closed it." }

    package init() {}
}

/// Writes a command's output.
///
/// Unbuffered: when `write` returns, the kernel has it.
package enum StandardOutput {
    /// Writes a line, harmless to a terminal.
    ///
    /// - Throws: ``BrokenPipe``; ``CommandFailure`` if the disk behind it fails.
    package static func write(_ line: String) throws { try write(Array((line + "\n").utf8)) }

    /// Writes whole characters, harmless to a terminal.
    ///
    /// - Throws: as the call with a line does.
    package static func write(_ bytes: [UInt8]) throws { try writeRaw(HarmlessText.bytes(bytes)) }

    /// Writes a line about a failure that is thrown next: that counts also where its reader has
    /// gone.
    ///
    /// - Throws: ``CommandFailure`` if the disk behind it fails.
    package static func explain(_ line: String) throws {
        do { try write(line) } catch is BrokenPipe {}
    }

    /// Writes bytes unchanged: for cursor movements, and for files that must stay identical.
    ///
    /// - Throws: as the call with a line does.
    package static func writeRaw(_ bytes: [UInt8]) throws {
        try FileOutput.write(bytes, to: STDOUT_FILENO)
    }
}

/// Writes all of something to a file descriptor, however little it takes at a time.
package enum FileOutput {
    package static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes {
                Foundation.write(descriptor, $0.baseAddress, $0.count)
            }
            if written > 0 {
                rest = rest.dropFirst(written)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: waitUntilWritable(descriptor)
            case EPIPE: throw BrokenPipe()
            default:
                throw CommandFailure(
                    .diskFailed,
                    "The output cannot be written: \(String(cString: strerror(errno))).")
            }
        }
    }

    /// For a pipe that another process has made non-blocking.
    private static func waitUntilWritable(_ descriptor: Int32) {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&request, 1, -1)
    }
}
