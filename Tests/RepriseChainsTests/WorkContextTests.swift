import RepriseChains
import Testing

struct WorkContextTests {
    @Test func aPositionOfAnotherShapeIsNone() {
        let context = WorkContext(key: "k", saved: Array(#""seven""#.utf8))
        #expect(context.saved(as: Int.self) == nil)
        #expect(context.saved(as: String.self) == "seven")
    }
}
