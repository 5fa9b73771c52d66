import RepriseCore
import RepriseNotices
import Testing

@Suite struct NoticeKindsTests {
    @Test("a tap waits for a screen, and nothing else does") func kinds() {
        #expect(
            Notices.kinds().filter { $0.requires.contains(.ui) }.map(\.name) == [NoticeKinds.tap])
    }
}
