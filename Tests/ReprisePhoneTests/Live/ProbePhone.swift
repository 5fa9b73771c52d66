import Foundation
import RepriseCore
import ReprisePhone
import RepriseTesting

/// A real phone with the probe installed on it.
enum ProbePhone {
    /// Plays a scenario, and leaves nothing behind however it ends.
    ///
    /// `habits` are the probe's arguments, `calls` what it asks of the system after each launch.
    static func play(
        _ habits: [String] = [], calls: [AppCall] = [], tasks: [String] = [],
        rules: PhoneRules? = nil, permitted: Bool = true, _ body: (Phone) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let phone = try await Phone.start(
            in: folder.url.appendingPathComponent("p"),
            supervisor: Phone.Supervisor(program: .sibling("PhoneProbe"), arguments: ["phone"]),
            rules: rules)
        do {
            try await phone.install(
                PhoneAppSpec(
                    id: "probe", executable: URL.sibling("PhoneProbe").path, arguments: habits,
                    backgroundTasks: tasks))
            if permitted { try await phone.permit() }
            try await phone.script(calls)
            try await body(phone)
        } catch {
            await phone.end()
            throw error
        }
        await phone.end()
    }
}

extension Phone {
    /// Puts calls into the probe's folder, to be made after each launch.
    nonisolated func script(_ calls: [AppCall]) async throws {
        let folder = folder.data(of: "probe")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try JSONEncoder().encode(calls).write(to: folder.appendingPathComponent("script.json"))
    }

    /// What the probe has written down: the ids of the taps that it took.
    nonisolated var tapsOnDisk: [String] {
        let file = folder.data(of: "probe").appendingPathComponent("taps")
        return ((try? String(contentsOf: file, encoding: .utf8)) ?? "").split(separator: "\n")
            .map(String.init)
    }

    /// The numbers of the events with this word, and this detail.
    func numbers(of what: String, _ detail: String? = nil) async throws -> [Int] {
        try await log().filter { $0.what == what && (detail == nil || $0.detail == detail) }
            .map(\.number)
    }

    static let alert = #"{"aps": {"alert": {"title": "Hello", "body": "There"}, "badge": 3}}"#
    static let silent = #"{"aps": {"content-available": 1}}"#
    static let silentHeaders = ["apns-push-type": "background", "apns-priority": "5"]

    func pushSilently() async throws { try await push(Self.silent, headers: Self.silentHeaders) }
}

/// Whether a process of this number is there and no corpse.
func isAlive(_ id: Int32) -> Bool { PhoneProcess.startTime(id) != nil }

/// A local notification.
func request(
    _ id: String, after seconds: Double? = nil, repeats: Bool = false, badge: Int? = nil
) -> NotificationRequest {
    var content = NotificationContent(title: id)
    content.badge = badge
    return NotificationRequest(
        id: id, content: content, trigger: seconds.map { .after(seconds: $0, repeats: repeats) })
}
