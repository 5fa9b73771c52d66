import Foundation
import NIOCore
import RepriseCore
import Synchronization

/// A connection to a running phone for a person, a script, a test.
///
/// ```swift
/// let phone = try await PhoneControl.connect(to: PhoneFolder(folder))
/// try await phone.ask(.launch(app: "mail"))
/// print(try await phone.status())
/// ```
public final class PhoneControl: Sendable {
    private struct State {
        var last = 0
        var waiting: [Int: CheckedContinuation<PhoneAnswer, any Error>] = [:]
        var isClosed = false
    }

    private let connection: LineConnection
    private let state = Mutex(State())

    private init(_ connection: LineConnection) { self.connection = connection }

    deinit { connection.close() }

    /// Connects to the phone that runs in a folder.
    ///
    /// - Parameter folder: the phone's.
    /// - Returns: the connection, open until ``close()`` or the phone's end.
    /// - Throws: ``RepriseCore/RepriseError`` `.unreachable` if none runs there.
    public static func connect(to folder: PhoneFolder) async throws -> PhoneControl {
        let connection = try await LineConnection.connect(to: folder.socket)
        connection.send(PhoneGreeting.control)
        let control = PhoneControl(connection)
        Task { [weak control] in
            await connection.readLines { line in
                guard let reply = try? PhoneJSON.decode(PhoneReply.self, from: line) else {
                    return false
                }
                control?.answered(reply)
                return true
            }
            control?.ended()
        }
        return control
    }

    /// Sends a command; up to 1,000 may be in flight.
    ///
    /// - Parameter command: the command.
    /// - Returns: the answer; ``PhoneAnswer/failed(_:)`` is thrown instead.
    /// - Throws: the phone's ``RepriseCore/RepriseError``; `.closed` if the phone has ended, and
    ///   then the command may have been performed.
    @discardableResult
    public func ask(_ command: PhoneCommand) async throws -> PhoneAnswer {
        let answer = try await withCheckedThrowingContinuation { waiter in
            let request: PhoneRequest? = state.withLock { state in
                guard !state.isClosed, state.waiting.count < PhoneLimits.questions else {
                    return nil
                }
                state.last += 1
                state.waiting[state.last] = waiter
                return PhoneRequest(id: state.last, command: command)
            }
            guard let request else {
                return waiter.resume(throwing: Self.ending)
            }
            if !connection.send(request) {
                take(request.id)?.resume(
                    throwing: RepriseError(.tooLarge, "The command is too large for a line."))
            }
        }
        if case .failed(let failure) = answer { throw failure.error }
        return answer
    }

    /// The phone's current status.
    ///
    /// - Returns: a consistent snapshot.
    /// - Throws: as ``ask(_:)``.
    public func status() async throws -> PhoneStatus {
        guard case .status(let status) = try await ask(.status) else { throw Self.nonsense }
        return status
    }

    /// The events after a number, at most 1,000.
    ///
    /// - Parameters:
    ///   - number: of the last known event; 0 for none.
    ///   - wait: how long to wait for the first, at most 30 seconds.
    /// - Returns: the events in order.
    /// - Throws: as ``ask(_:)``.
    public func log(since number: Int, wait: Duration = .zero) async throws -> [PhoneEvent] {
        let wait = Int(max(0, min(wait.milliseconds, 30_000)))
        guard case .log(let events) = try await ask(.log(since: number, waitMilliseconds: wait))
        else { throw Self.nonsense }
        return events
    }

    /// Ends the connection; questions under way fail with `.closed`.
    public func close() {
        connection.close()
        ended()
    }

    private func answered(_ reply: PhoneReply) {
        if let id = reply.id { take(id)?.resume(returning: reply.answer) }
    }

    private func take(_ id: Int) -> CheckedContinuation<PhoneAnswer, any Error>? {
        state.withLock { $0.waiting.removeValue(forKey: id) }
    }

    private func ended() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for waiter in waiting { waiter.resume(throwing: Self.ending) }
    }

    private static let ending = RepriseError(
        .closed, "The phone has ended, or the connection to it was closed.")
    private static let nonsense = RepriseError(
        .malformed, "The phone has answered something else than it was asked.")
}
