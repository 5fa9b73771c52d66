import Foundation
import GRDB
import RepriseCore
import RepriseTestSupport
import Testing

@testable import RepriseCLI

@Suite("ledger")
struct LedgerCommandTests {
    @Test("the JSON is the one that scripts rely on")
    func json() {
        var sum = LedgerSum()
        sum.accepted = 7
        sum.pending = 1
        sum.outcomes = [.applied: 4, .dead: 2]
        sum.duplicates = 3
        sum.lost = [
            .init(channel: "a", reason: "retention", count: 5),
            .init(channel: "b", reason: "epoch", count: nil),
        ]
        #expect(
            LedgerReport(sum: sum).json
                == #"{"accepted":7,"pending":1,"outcomes":{"applied":4,"expired":0,"superseded":0,"#
                + #""dead":2,"unconfirmed":0},"duplicates":3,"lost":6,"balanced":true}"#)
    }

    @Test("guarantee 5: a journal that does not add up is shown, with exit code 1")
    func unbalanced() async throws {
        try await withServer { server, folder in
            _ = try await Tool.run("publish", "a", "x", "y", "--server", server.url)
            _ = try await Tool.run(
                "listen", "a", "--journal", folder.path("j"), "--server", server.url,
                "--until-complete")
            let sound = try await Tool.run("ledger", "--journal", folder.path("j"))
            #expect(sound.status == 0)
            #expect(sound.output.contains("balanced"))
            let database = try DatabaseQueue(path: folder.path("j/journal.sqlite"))
            try await database.write { db in
                try db.execute(sql: "UPDATE journal SET accepted = accepted + 1")
            }
            try database.close()
            let broken = try await Tool.run("ledger", "--journal", folder.path("j"), "--json")
            #expect(broken.status == 1)
            #expect(broken.output.contains(#""balanced":false"#))
            #expect(
                try await Tool.run("ledger", "--journal", folder.path("j")).output.contains(
                    "does not add up"))
        }
    }
}
