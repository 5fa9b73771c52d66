import Dispatch
import Foundation
import Synchronization

/// Reads lines from a file descriptor, without ever holding more than one line and one read.
///
/// Reading blocks a thread of its own: a person may be typing.
///
/// `@unchecked Sendable`: only one task reads from it.
package final class InputLineReader: @unchecked Sendable {
    /// The longest line that can become a message, with room for JSON's escapes.
    package static let longestLine = 1_048_576

    private let descriptor: Int32
    private let isOwned: Bool
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    package private(set) var lineNumber = 0

    /// Reads from what is open already.
    package init(descriptor: Int32) {
        self.descriptor = descriptor
        isOwned = false
    }

    /// Opens a file.
    ///
    /// - Throws: ``CommandFailure`` `.noInput`.
    package init(path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        isOwned = true
        guard descriptor >= 0 else { throw Self.unreadable(path) }
    }

    deinit { if isOwned, descriptor >= 0 { close(descriptor) } }

    /// The next line without its end; nil when there is none.
    ///
    /// - Throws: ``CommandFailure`` if the input fails or a line is too long.
    package func next() async throws -> [UInt8]? {
        while true {
            if let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
                return take(through: end)
            }
            guard buffer.count - position <= Self.longestLine else {
                throw CommandFailure(
                    .badInput, "Line \(lineNumber + 1) has more than \(Self.longestLine) bytes.")
            }
            if isAtEnd { return position < buffer.count ? take(through: buffer.count) : nil }
            try await fill()
        }
    }

    private func take(through end: Int) -> [UInt8] {
        var line = buffer[position..<end]
        position = min(end + 1, buffer.count)
        lineNumber += 1
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return Array(line)
    }

    private func fill() async throws {
        buffer.removeFirst(position)
        position = 0
        let chunk = try await Self.read(descriptor)
        if chunk.isEmpty { isAtEnd = true } else { buffer += chunk }
    }

    /// The next bytes; empty at the end.
    package static func read(_ descriptor: Int32) async throws -> [UInt8] {
        let answer = LineAnswer()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                answer.expect(continuation)
                DispatchQueue.global().async {
                    answer.give(Result { try blockingRead(descriptor) })
                }
            }
        } onCancel: {
            // The thread stays in its read; its result is discarded.
            answer.give(.failure(CancellationError()))
        }
    }

    private static func blockingRead(_ descriptor: Int32) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Foundation.read(descriptor, &bytes, bytes.count)
            if count >= 0 { return Array(bytes[..<count]) }
            guard errno == EINTR else {
                let reason = String(cString: strerror(errno))
                throw CommandFailure(.noInput, "The input cannot be read: \(reason).")
            }
        }
    }

    private static func unreadable(_ path: String) -> CommandFailure {
        let reason = String(cString: strerror(errno))
        return CommandFailure(.noInput, "\(path) cannot be read: \(reason).")
    }
}

/// One answer to one question; the first counts.
private final class LineAnswer: Sendable {
    private enum State {
        case nothing
        case expected(CheckedContinuation<[UInt8], any Error>)
        case given(Result<[UInt8], any Error>)
    }

    private let state = Mutex(State.nothing)

    func expect(_ continuation: CheckedContinuation<[UInt8], any Error>) {
        let early: Result<[UInt8], any Error>? = state.withLock { state in
            if case .given(let result) = state { return result }
            state = .expected(continuation)
            return nil
        }
        if let early { continuation.resume(with: early) }
    }

    func give(_ result: Result<[UInt8], any Error>) {
        let waiting: CheckedContinuation<[UInt8], any Error>? = state.withLock { state in
            defer { state = .given(result) }
            if case .expected(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume(with: result)
    }
}
