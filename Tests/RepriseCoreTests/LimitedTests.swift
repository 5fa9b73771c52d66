import RepriseCore
import Testing

@Suite("Texts with a limit")
struct LimitedTests {
    @Test(
        "a text has at most so many bytes, and no half of a scalar",
        arguments: [
            ("", 0, ""), ("abc", 3, "abc"), ("abc", 2, "ab"), ("abc", 0, ""), ("abc", -1, ""),
            ("äöü", 4, "äö"), ("äöü", 3, "ä"), ("ä", 1, ""), ("a👍", 4, "a"), ("a👍", 5, "a👍"),
            // Two scalars that are one character: the first alone fits.
            ("e\u{301}", 2, "e"),
        ])
    func limited(text: String, bytes: Int, result: String) {
        #expect(text.limited(to: bytes).unicodeScalars.elementsEqual(result.unicodeScalars))
    }
}
