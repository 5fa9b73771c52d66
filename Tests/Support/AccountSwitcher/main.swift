// A process to be killed in the middle of a change of accounts; says on its standard output what it
// was promised.
//
//   AccountSwitcher adopt FOLDER COUNT   records as nobody, then signs in as ada
//   AccountSwitcher leave FOLDER COUNT   signs in as ada, records, then signs out
//   AccountSwitcher taps FOLDER COUNT    records taps while its client opens

import Foundation
import Reprise
import RepriseTesting

/// One line by one system call, so that a kill never cuts it.
func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    guard write(1, bytes, bytes.count) == bytes.count else { exit(74) }
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let count = Int(arguments[3]) else { exit(64) }

if arguments[1] == "taps" {
    let client = RepriseClient(.ofTaps(in: URL(fileURLWithPath: arguments[2])))
    for number in 0..<count {
        let tap = NotificationResponse.tap(number)
        try client.record(tap)
        say("accepted \(tap.tapID) tap")
    }
    say("changed")
    exit(0)
}

var configuration = AccountClient.Configuration()
configuration.kinds = [
    EntryKind("draft", requires: [.ui]),
    EntryKind("hint", requires: [.ui], beforeSignIn: .expire),
]

do {
    let home = try await DeviceAccounts.open(
        at: URL(fileURLWithPath: arguments[2]), server: "http://127.0.0.1:1",
        dialer: MemoryDialer(), configuration: configuration,
        tokens: { _ in throw RepriseError(.unauthorized, "Nothing is dialled here.") })
    let ada = try UserID("ada")
    if arguments[1] == "leave" { try await home.signIn(as: ada) }
    for number in 0..<count {
        let kind = number.isMultiple(of: 5) ? "hint" : "draft"
        let entry = NewEntry(
            kind: kind, payload: Array("payload-\(number)".utf8),
            partitionKey: number.isMultiple(of: 3) ? "lane" : nil)
        try await home.current.journal.record(entry)
        say("accepted \(entry.id) \(kind)")
    }
    say("changing")
    if arguments[1] == "adopt" {
        try await home.signIn(as: ada)
        say("changed")
    } else {
        let sum = try await home.signOut()
        say("changed \(sum.accepted) \(sum.outcomes[.dead] ?? 0) \(sum.isBalanced)")
    }
    await home.close()
} catch {
    say("error \(error)")
    exit(1)
}
