import RepriseCore
import Testing

/// The account is what the network tests believe; here it is shown to find what it is for.
@Suite("Network account")
struct AccountTests {
    private static func right() throws -> Account {
        let log = try (1...5).map { Stored(seq: $0, id: try EntryID("m\($0)")) }
        var account = Account()
        account.acknowledged = Array(log[0...2])
        account.published = [[log[3].id, log[4].id]]
        account.log = log
        account.effects = [log, [2, 0, 1, 4, 3].map { log[$0] }]  // any order is right
        return account
    }

    @Test("a correct account has no complaints")
    func silent() throws { #expect(try Self.right().complaints == []) }

    @Test("an account with any one fault has a complaint")
    func detects() throws {
        let stranger = Stored(seq: 9, id: try EntryID("x"))
        let wrongs: [(String, (inout Account) -> Void)] = [
            ("never got", { $0.effects[1].removeLast() }),
            ("happened again", { $0.effects[0].append($0.effects[0][2]) }),
            ("never stored", { $0.effects[0].append(stranger) }),
            ("not in the log", { $0.acknowledged.append(stranger) }),
            ("gaps", { $0.log.remove(at: 1) }),
            ("stored twice", { $0.log.append(Stored(seq: 6, id: $0.log[4].id)) }),
            ("were published", { $0.published[0].removeLast() }),
            ("another order", { $0.published[0].reverse() }),
            ("not all stored", { $0.published[0].append(stranger.id) }),
        ]
        for (words, change) in wrongs {
            var account = try Self.right()
            change(&account)
            #expect(account.complaints.contains { $0.contains(words) }, "\(words)")
        }
    }
}
