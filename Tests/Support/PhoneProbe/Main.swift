import Foundation
import RepriseCore
import ReprisePhone

/// An app on the phone that does nothing but say what the system does to it; or, called with
/// `phone FOLDER`, a phone.
@main
enum PhoneProbe {
    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        if words.first == "phone", let folder = words.dropFirst().first {
            await runPhone(in: PhoneFolder(URL(fileURLWithPath: folder)))
            return
        }
        if ProcessInfo.processInfo.environment["REPRISE_PHONE_EXTENSION"] != nil {
            return await ExtensionProbe.run()
        }
        if words.contains("--mute") { while true { sleep(1_000) } }
        if words.contains("--nonsense") { await Nonsense.talk() }
        do {
            try await Probe(habits: Set(words)).run()
        } catch {
            print(error)
            exit(1)
        }
    }

    /// Runs a phone until it is shut down, or the input ends: with the test, if that is killed.
    private static func runPhone(in folder: PhoneFolder) async {
        let phone = Task {
            do {
                try await PhoneSupervisor.run(in: folder)
            } catch {
                print(error)
                exit(1)
            }
        }
        Thread.detachNewThread {
            while readLine() != nil {}
            phone.cancel()
        }
        await phone.value
    }
}
