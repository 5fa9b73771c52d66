import RepriseCore
import Synchronization

/// The answer of a server, kept in memory up to a bound.
final class Received: Sendable {
    private struct State {
        var head: HTTPHead?
        var body: [UInt8] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// A redirect begins anew.
    func begin(_ head: HTTPHead) {
        state.withLock { $0 = State(head: head) }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`.
    func append(_ bytes: [UInt8]) throws {
        try state.withLock { state in
            guard state.body.count + bytes.count <= limit else {
                throw RepriseError(
                    .tooLarge, "The answer has more than \(limit) bytes.",
                    remedy: "Ask for less, or download it into a file.")
            }
            state.body += bytes
        }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` without a response.
    func answer() throws -> (head: HTTPHead, body: [UInt8]) {
        try state.withLock { state in
            guard let head = state.head else {
                throw RepriseError(.malformed, "There was no answer.", remedy: "Try again.")
            }
            return (head, state.body)
        }
    }
}
