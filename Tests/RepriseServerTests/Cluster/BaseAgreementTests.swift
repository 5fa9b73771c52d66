import RepriseCore
import RepriseServer
import Testing

@Suite("Agreement on a base")
struct BaseAgreementTests {
    private static let mine = ViewHash(mark: 9, hash: [1])
    private static let other = ViewHash(mark: 9, hash: [2])

    /// This gateway has hashed its view, and that is back from the journal.
    private static func agreement() -> BaseAgreement {
        var agreement = BaseAgreement()
        agreement.looked(mine)
        agreement.heard(mine, from: 1, isOwn: true)
        return agreement
    }

    @Test(
        "a base is accepted once another gateway reports the same hash, or no gateway reports one in time"
    )
    func agrees() throws {
        var agreement = Self.agreement()
        let (alone, late) = (
            try agreement.allows(Self.mine, isLate: false),
            try agreement.allows(Self.mine, isLate: true)
        )
        #expect(!alone)
        #expect(late)
        agreement.heard(Self.mine, from: 2, isOwn: false)
        let together = try agreement.allows(Self.mine, isLate: false)
        #expect(together)
    }

    @Test("a base is not accepted while another gateway's hash differs")
    func differs() {
        var agreement = Self.agreement()
        agreement.heard(Self.mine, from: 2, isOwn: false)
        agreement.heard(Self.other, from: 3, isOwn: false)
        let found = agreement
        for isLate in [false, true] {
            #expect(throws: RepriseError.self) {
                _ = try found.allows(Self.mine, isLate: isLate)
            }
        }
        #expect(found.comparison?.equal == 2)
        #expect(found.comparison?.all == 3)
    }

    @Test("a hash of another mark does not count")
    func older() throws {
        var agreement = Self.agreement()
        agreement.heard(Self.other, from: 2, isOwn: false)
        let next = ViewHash(mark: 12, hash: [3])
        agreement.looked(next)
        let before = agreement.comparison?.mark
        #expect(before == nil)
        agreement.heard(next, from: 1, isOwn: true)
        let isAllowed = try agreement.allows(next, isLate: false)
        #expect(!isAllowed)
        #expect(agreement.comparison?.all == 1)
    }

    @Test("a gateway that has written since the mark and reports no hash counts as present")
    func silent() throws {
        var agreement = BaseAgreement()
        agreement.wrote(2, at: 8)
        agreement.looked(Self.mine)
        agreement.heard(Self.mine, from: 1, isOwn: true)
        // It has written before the mark alone.
        let alone = try agreement.allows(Self.mine, isLate: true)
        #expect(alone)
        agreement.wrote(2, at: 10)
        agreement.named(2, "n2:8080")
        let found = agreement
        let waits = try found.allows(Self.mine, isLate: false)
        #expect(!waits)
        let error = #expect(throws: RepriseError.self) {
            _ = try found.allows(Self.mine, isLate: true)
        }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("n2:8080") == true, "\(error as Any)")
        // It says it after all; or what it wrote stands before the next mark.
        agreement.heard(Self.mine, from: 2, isOwn: false)
        let together = try agreement.allows(Self.mine, isLate: true)
        #expect(together)
        let next = ViewHash(mark: 12, hash: [3])
        agreement.looked(next)
        let later = try agreement.allows(next, isLate: true)
        #expect(later)
    }

    @Test("writes before this gateway has hashed its view count too")
    func early() {
        var agreement = BaseAgreement()
        agreement.wrote(2, at: 10)
        agreement.looked(Self.mine)
        let found = agreement
        #expect(throws: RepriseError.self) { _ = try found.allows(Self.mine, isLate: true) }
    }

    @Test("a gateway owes its hash from a mark until the hash of the newest mark is applied")
    func owes() {
        var agreement = BaseAgreement()
        #expect(agreement.owing(now: .seconds(9)) == .zero)
        agreement.marked(at: 9, now: .seconds(10))
        agreement.heard(Self.mine, from: 2, isOwn: false)
        agreement.marked(at: 12, now: .seconds(20))
        agreement.heard(Self.mine, from: 1, isOwn: true)
        #expect(agreement.owing(now: .seconds(30)) == .seconds(20))
        agreement.heard(ViewHash(mark: 12, hash: [3]), from: 1, isOwn: true)
        #expect(agreement.owing(now: .seconds(40)) == .zero)
    }
}
