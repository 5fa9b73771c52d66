public import Foundation
public import RepriseCore
import Synchronization

/// A notification service extension on the phone, like `UNNotificationServiceExtension`: a process
/// of its own, started for one push, which may change its content.
///
/// ```swift
/// try await PhoneExtension.run { push in
///     try? FormsSpool(at: push.sharedFolder).record(…)
///     var content = push.request.content
///     content.title = "Changed"
///     return content
/// }
/// ```
///
/// It has 30 seconds. It shares a folder with its app, and uses only Reprise's spool in it: it
/// never opens the journal.
public struct PhoneExtension: Sendable {
    /// The notification as it came.
    public let request: NotificationRequest
    /// The folder that it shares with its app (an App Group's container).
    public let sharedFolder: URL
    private let connection: LineConnection

    /// Connects to the phone that has started this process, changes the one notification, and
    /// returns when the phone has it.
    ///
    /// - Parameters:
    ///   - timeWillExpire: called when the time is nearly over and `didReceive` has not returned
    ///     (`serviceExtensionTimeWillExpire`): the last chance to return content; nil is the
    ///     original.
    ///   - didReceive: makes the content (`didReceive(_:withContentHandler:)`); one without any
    ///     text is ignored.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if no phone has started this process,
    ///   `.unreachable`, `.refused` if the phone does not await it (any more).
    public static func run(
        timeWillExpire: @escaping @Sendable () async -> NotificationContent? = { nil },
        didReceive: @escaping @Sendable (PhoneExtension) async -> NotificationContent
    ) async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let socket = environment[PhoneEnvironment.socket],
            let token = environment[PhoneEnvironment.token]
        else {
            throw RepriseError(
                .unavailable, "This process was not started by a phone.",
                remedy: "Install it with `reprise-lab phone install … --extension`.")
        }
        let connection = try await LineConnection.connect(to: socket)
        connection.send(PhoneGreeting.extension(token: token))
        let answered = Once()
        await connection.readLines { line in
            switch try? PhoneJSON.decode(ExtensionOrder.self, from: line) {
            case .request(let request, let folder):
                let push = PhoneExtension(
                    request: request, sharedFolder: URL(fileURLWithPath: folder, isDirectory: true),
                    connection: connection)
                Task { await push.answer(await didReceive(push), once: answered) }
            case .timeWillExpire:
                Task {
                    guard let content = await timeWillExpire() else { return }
                    await answer(content, over: connection, once: answered)
                }
            case nil: break  // A newer phone: what this one does not know is passed over.
            }
            return true
        }
        guard answered.isDone else {
            throw RepriseError(.refused, "The phone does not await this process.")
        }
    }

    /// Writes an observation into the phone's log.
    ///
    /// - Parameters:
    ///   - what: a word; the log has it with `app.` before it.
    ///   - detail: the rest, at most 4,096 bytes.
    public func report(_ what: String, _ detail: String = "") async {
        connection.send(ExtensionMessage.report(what: what, detail: detail))
        await connection.flush()
    }

    private func answer(_ content: NotificationContent, once: Once) async {
        await Self.answer(content, over: connection, once: once)
    }

    private static func answer(
        _ content: NotificationContent, over connection: LineConnection,
        once: Once
    ) async {
        guard once.first() else { return }
        connection.send(ExtensionMessage.content(content))
        await connection.flush()
        // The phone closes too when it has the answer; then the process ends.
    }
}

/// A flag that is set once.
private final class Once: Sendable {
    private let flag = Atomic(false)

    var isDone: Bool { flag.load(ordering: .relaxed) }

    /// Whether this call is the first.
    func first() -> Bool { !flag.exchange(true, ordering: .relaxed) }
}
