import Foundation
import RepriseCore
import ReprisePhone

/// An app on the phone that does nothing but say what the system does to it; or, called with `phone FOLDER`, a phone.
@main
enum PhoneProbe {
    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        if words.first == "phone", let folder = words.dropFirst().first {
            do {
                try await PhoneSupervisor.run(in: PhoneFolder(URL(fileURLWithPath: folder)))
            } catch {
                print(error)
                exit(1)
            }
            return
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
}
