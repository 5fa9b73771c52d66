import RepriseCommandLine
import RepriseCore
import Testing

@testable import RepriseCLI

@Suite("Terminal")
struct TerminalTests {
    @Test(
        "characters that move a cursor or reverse text are escaped",
        arguments: [
            ("plain ü 漢", "plain ü 漢"), ("a\tb", "a\tb"), ("a\nb", "a\\nb"),
            ("a\r\nb", "a\\u{d}\\nb"),
            ("\u{1b}]0;x\u{7}", "\\u{1b}]0;x\\u{7}"), ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}abc", "\\u{202e}abc"),
        ])
    func printable(text: String, expected: String) { #expect(text.printable == expected) }

    @Test(
        "numbers are grouped",
        arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567")])
    func grouped(number: Int, expected: String) { #expect(number.grouped == expected) }

    @Test(
        "a text is as wide as a terminal draws it",
        arguments: [
            ("plain ü", 7), ("ne\u{301}e", 3), ("漢字", 4), ("👍", 2), ("❤\u{fe0f}", 2), ("❤", 1),
            ("✅", 2), ("⭐❌⚡", 6), ("🟢", 2), ("🇩🇪", 2), ("✓ … – ─", 7),
        ])
    func columns(text: String, expected: Int) { #expect(text.columns == expected) }

    @Test(
        "a text is broken between words, and a word that is too long between characters",
        arguments: [
            ("abc", ["abc"]), ("ab cd", ["ab", "cd"]), ("abcdefg", ["abcd", "efg"]),
            ("a bcdefg h", ["a", "bcde", "fg h"]), ("漢字漢 a", ["漢字", "漢 a"]),
            ("a漢字", ["a漢", "字"]), ("abcde\u{301} f", ["abcd", "e\u{301} f"]),
            ("  abcde", ["abcd", "e"]),
        ])
    func wrapped(text: String, expected: [String]) { #expect(text.wrapped(4) == expected) }

    @Test("a word of any length is broken in one pass")
    func longWord() {
        let word = String(repeating: "x", count: 100_000)
        var lines: [String] = []
        // Where each line took the rest of the word anew, this took minutes.
        let duration = ContinuousClock().measure { lines = word.wrapped(10) }
        #expect(lines.count == 10_000)
        #expect(duration < .seconds(10))
    }
}
