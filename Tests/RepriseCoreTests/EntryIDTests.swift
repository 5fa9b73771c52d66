import RepriseCore
import RepriseTestSupport
import Testing

@Suite("Entry ids")
struct EntryIDTests {
    @Test(
        "An id is 1 to 128 printable ASCII characters that need no escape anywhere",
        arguments: [
            ("a", true), ("~!#$%&'()*+,-./:;<=>?@[]^_`{|}", true), ("", false), ("a b", false),
            ("a\"", false), ("a\\", false), ("a\n", false), ("ä", false), ("\u{7f}", false),
            (String(repeating: "x", count: 128), true),
            (String(repeating: "x", count: 129), false),
        ])
    func rule(text: String, isValid: Bool) {
        if isValid {
            #expect((try? EntryID(text))?.text == text)
        } else {
            expectError(.badID) { try EntryID(text) }
        }
    }

    @Test("A random id has 128 bits, written as 32 hexadecimal digits")
    func random() {
        struct Fixed: RandomNumberGenerator {
            var words: [UInt64]
            mutating func next() -> UInt64 { words.removeFirst() }
        }
        var generator = Fixed(words: [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210])
        #expect(
            EntryID.random(using: &generator).text == "0123456789abcdeffedcba9876543210")
        #expect(EntryID.random() != EntryID.random())
    }

    @Test(
        "A hash is FNV-1a in 128 bits, written as 32 hexadecimal digits",
        arguments: [
            ("", "6c62272e07bb014262b821756295c58d"), ("a", "d228cb696f1a8caf78912b704e4a8964"),
            ("foobar", "343e1662793c64bf6f0d3597ba446f18"),
            ("10", "088094cf09ab1be95aa07330556e750c"),
        ])
    func hash(text: String, digits: String) {
        #expect(EntryID.hash(of: text, prefix: "h-").text == "h-" + digits)
    }
}
