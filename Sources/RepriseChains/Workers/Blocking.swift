import Foundation

/// Calls that wait for the disk or for a name server, kept off the threads that all of the app's
/// tasks share.
enum Blocking {
    static let queue = DispatchQueue(
        label: "reprise.chains.blocking", qos: .utility, attributes: .concurrent)

    /// Runs a blocking closure.
    ///
    /// - Throws: what `body` throws.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}
