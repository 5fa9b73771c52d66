import RepriseCore
import Testing

@Suite("Text with percent signs")
struct PercentTests {
    @Test(
        "its escapes are decoded, byte for byte",
        arguments: [
            ("", ""), ("ada", "ada"), ("a%20b%2Fc", "a b/c"), ("%e2%82%AC", "€"), ("%00", "\0"),
            ("%EF%BB%BF%EF%BB%BFa", "\u{FEFF}\u{FEFF}a"), ("a+b", "a+b"), ("é", "é"),
        ])
    func decoded(text: String, wanted: String) {
        #expect(text.percentDecoded.map { Array($0.utf8) } == Array(wanted.utf8))
    }

    @Test(
        "a malformed escape, and one that is not UTF-8, is not decoded",
        arguments: ["%", "%4", "%4g", "%%41", "%ff", "%C3"])
    func refused(text: String) { #expect(text.percentDecoded == nil) }
}
