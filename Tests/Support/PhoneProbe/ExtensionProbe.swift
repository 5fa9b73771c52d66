import Foundation
import RepriseCore
import RepriseJournal
import ReprisePhone

/// The service extension of the probe: does what the text of the push says.
enum ExtensionProbe {
    static func run() async {
        do {
            try await PhoneExtension.run(timeWillExpire: lastChance) { push in
                await push.report("extension", "\(getpid())")
                var content = push.request.content
                switch content.body {
                case "hang", "late": await forever()
                case "crash": exit(3)
                case "empty": (content.title, content.body) = ("", "")
                case "kill me":
                    spool("before-the-kill", in: push.sharedFolder)
                    kill(getpid(), SIGKILL)
                default:
                    spool(push.request.id, in: push.sharedFolder)
                    content.title = "Changed"
                }
                return content
            }
        } catch {
            print(error)
            exit(1)
        }
    }

    /// Only a push that asks for it is answered in the last moment.
    private static func lastChance() async -> NotificationContent? {
        NotificationContent(title: "In time", body: "late")
    }

    private static func forever() async {
        while true { try? await Task.sleep(for: .seconds(1_000)) }
    }

    /// An extension writes the spool and nothing else.
    private static func spool(_ id: String, in folder: URL) {
        guard let id = try? EntryID(id) else { return }
        try? Spool(at: folder).record(
            NewEntry(id: id, kind: "push.shown", source: "extension", payload: Array("{}".utf8)))
    }
}
