import ArgumentParser
import Foundation
import RepriseCore
import RepriseNotices
import ReprisePhone

/// `reprise-lab app notices-extension`: the service extension of the app that shows notices.
///
/// It reports to the phone's log: `extension` with its process; `extensionAnswer` with what is
/// shown.
struct NoticesExtensionCommand: AsyncParsableCommand {
    static let configuration = AppHelp.of(
        "notices-extension", "The service extension of the app that shows notices.")

    @Option(help: "The step at which it stops; the phone ends it at its limit.")
    var hangAt: String?
    @Option(help: "The step at which it ends itself.") var dieAt: String?
    @Flag(help: "Ignores the warning that its time is nearly over.") var ignoresWarning = false

    func run() async throws {
        // At work, for the system's warning.
        let notice = Shared(NoticeExtension?.none)
        let (hangAt, dieAt, hearsWarning) = (hangAt, dieAt, !ignoresWarning)
        try await PhoneExtension.run(
            timeWillExpire: {
                if hearsWarning { notice.value?.timeWillExpire() }
                return nil
            },
            didReceive: { push in
                let folder = push.sharedFolder
                // The phone's time is not the machine's: its warning ends the work, not the budget.
                let work = NoticeExtension(
                    at: folder, budget: .seconds(3_600), timekeeper: SystemTimekeeper(),
                    reached: { step in
                        if step.rawValue == dieAt { kill(getpid(), SIGKILL) }
                        guard step.rawValue == hangAt else { return }
                        // So that a test knows it.
                        let file = folder.appendingPathComponent("hangs").path
                        _ = FileManager.default.createFile(atPath: file, contents: nil)
                        while true { sleep(1_000) }
                    })
                notice.update { $0 = work }
                await push.report("extension", "\(getpid())")
                let content = await work.content(for: push.request)
                let words = [
                    content.interruption?.rawValue ?? "active",
                    content.sound ? "sound" : "silent", content.badge.map { "\($0)" } ?? "-",
                ]
                await push.report("extensionAnswer", words.joined(separator: " "))
                return content
            })
    }
}
