import RepriseCore
import RepriseNotices
import RepriseWire
import Testing

@Suite("The badge of an extension")
struct ExtensionBadgeTests {
    /// Lets the extension run for each push, and returns the badges.
    private func badges(_ hints: [PushHint], _ mirror: NoticeMirror?) -> [Int?] {
        var records: [ShownRecord] = []
        return hints.map { hint in
            let judgement = PushJudge(mirror: mirror, records: records, now: Pushes.now)
                .judge(Pushes.request(hint))
            if let record = judgement.record { records.append(record) }
            return judgement.content.badge
        }
    }

    @Test(
        "in every order of pushes the last badge is the same, and an older count never replaces a newer"
    )
    func orders() throws {
        let hints = [
            try Pushes.hint("m11", seq: 11, badge: (4, 6), at: 1),
            try Pushes.hint("m12", seq: 12, badge: (5, 7), at: 2),
            try Pushes.hint("n1", seq: 1, channel: "other", badge: (6, 8), at: 3),
            try Pushes.hint("m13", seq: 13, badge: (7, 9), at: 4),
        ]
        for mirror in [
            nil, Pushes.mirror(), Pushes.mirror(asOf: 7), Pushes.mirror(head: 12, badge: 5),
        ] {
            for order in permutations(hints) {
                let shown = badges(order, mirror).compactMap { $0 }
                #expect(shown.last == 7)
                #expect(shown == shown.sorted(), "\(shown)")
            }
        }
    }

    @Test("messages that the app has counted itself are not counted again by the server's figure")
    func covered() throws {
        // The app has read up to 12 a moment ago; the server did not know that when it pushed 11.
        var mirror = Pushes.mirror(read: 12, head: 12, badge: 1)
        #expect(badges([try Pushes.hint("m11", seq: 11, badge: (9, 60))], mirror) == [1])
        // The count of an earlier moment than one that the app has taken already.
        mirror = Pushes.mirror(head: 10, badge: 2, asOf: 50)
        #expect(badges([try Pushes.hint("m11", seq: 11, badge: (9, 40))], mirror) == [3])
    }

    @Test("a server that has not counted, and one that says a nonsense of a figure, break nothing")
    func uncounted() throws {
        #expect(
            badges(
                [try Pushes.hint("m11", seq: 11), try Pushes.hint("m12", seq: 12)], Pushes.mirror())
                == [4, 5])
        #expect(badges([try Pushes.hint("m11", seq: 11)], nil) == [99])
        #expect(
            badges([try Pushes.hint("m11", seq: 11, badge: (WireLimits.greatestSequence, 1))], nil)
                == [Int(WireLimits.greatestSequence)])
        #expect(
            badges([try Pushes.hint("m11", seq: 11)], Pushes.mirror(badge: .max)) == [.max])
    }

    @Test("the same push twice counts once")
    func twice() throws {
        let hint = try Pushes.hint("m11", seq: 11)
        #expect(badges([hint, hint], Pushes.mirror()) == [4, 4])
    }

    private func permutations<T>(_ all: [T]) -> [[T]] {
        guard !all.isEmpty else { return [[]] }
        return all.indices.flatMap { index in
            var rest = all
            let one = rest.remove(at: index)
            return permutations(rest).map { [one] + $0 }
        }
    }
}
