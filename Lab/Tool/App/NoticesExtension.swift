import ArgumentParser
import Foundation
import RepriseCore
import RepriseNotices
import ReprisePhone
import Synchronization

/// `reprise-lab app notices-extension`: the service extension of the app that shows notices.
///
/// It reports to the phone's log: `extension` with its process; `extensionAnswer` with what is
/// shown.
struct NoticesExtensionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notices-extension", shouldDisplay: false)

    /// Does not go on from there: the phone ends it at its limit.
    @Option var hangAt: String?
    /// Ends itself there.
    @Option var dieAt: String?
    /// Ignores the warning that its time is nearly over.
    @Flag var ignoresWarning = false

    func run() async throws {
        let current = NoticeAtWork(
            hangAt: hangAt, dieAt: dieAt, hearsWarning: !ignoresWarning)
        try await PhoneExtension.run(
            timeWillExpire: {
                current.timeWillExpire()
                return nil
            }, didReceive: { await current.content(for: $0) })
    }
}

/// The notice that is at work, for the system's warning.
private final class NoticeAtWork: Sendable {
    private let hangAt: String?
    private let dieAt: String?
    private let hearsWarning: Bool
    private let notice = Mutex<NoticeExtension?>(nil)

    init(hangAt: String?, dieAt: String?, hearsWarning: Bool) {
        self.hangAt = hangAt
        self.dieAt = dieAt
        self.hearsWarning = hearsWarning
    }

    func content(for push: PhoneExtension) async -> NotificationContent {
        // The phone's time is not the machine's: its warning ends the work, not the budget.
        let folder = push.sharedFolder
        let notice = NoticeExtension(
            at: folder, budget: .seconds(3_600), timekeeper: SystemTimekeeper(),
            reached: { [self] in reached($0, in: folder) })
        self.notice.withLock { $0 = notice }
        await push.report("extension", "\(getpid())")
        let content = await notice.content(for: push.request)
        let words = [
            content.interruption?.rawValue ?? "active", content.sound ? "sound" : "silent",
            content.badge.map { "\($0)" } ?? "-",
        ]
        await push.report("extensionAnswer", words.joined(separator: " "))
        return content
    }

    func timeWillExpire() {
        guard hearsWarning else { return }
        notice.withLock { $0 }?.timeWillExpire()
    }

    private func reached(_ step: NoticeExtension.Step, in folder: URL) {
        if step.rawValue == dieAt { kill(getpid(), SIGKILL) }
        guard step.rawValue == hangAt else { return }
        // So that a test knows it.
        let file = folder.appendingPathComponent("hangs").path
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        while true { sleep(1_000) }
    }
}
