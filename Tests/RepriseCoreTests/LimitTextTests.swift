import Foundation
import RepriseCore
import Testing

/// The figures of `docs/limits`.
@Suite("Text of a limit")
struct LimitTextTests {
    private struct Seen: Decodable, Equatable {
        var text: String
        var isTyped: Bool
    }

    private func seen(_ text: LimitText) throws -> Seen {
        try JSONDecoder().decode(Seen.self, from: JSONEncoder().encode(text))
    }

    @Test("a number is grouped, bytes and times have the largest unit that leaves them whole")
    func units() throws {
        let texts: [LimitText] = [
            "\(65_536)", "\(999)", "\(9_007_199_254_740_991)", "\(bytes: 65_536)",
            "\(bytes: 3 << 20)", "\(bytes: Int64(16) << 30)", "\(Duration.seconds(90))",
            "\(Duration.seconds(600))", "\(Duration.seconds(86_400))",
            "\(Duration.seconds(30 * 86_400))", "\(seconds: 36_500 * 86_400)",
            "\(milliseconds: 1_500)", "\(milliseconds: 20)", "\(seconds: 0.1)", "\(1.0)",
        ]
        #expect(
            try texts.map { try seen($0).text } == [
                "65,536", "999", "2⁵³ − 1", "65,536 bytes", "3 MiB", "16 GiB", "90 s", "10 min",
                "1 day", "30 days", "100 years", "1.5 s", "20 ms", "100 ms", "1",
            ])
    }

    @Test("a digit that is typed instead of interpolated is noticed")
    func typed() throws {
        #expect(try !seen("one, \(2) and \(verbatim: "3")").isTyped)
        #expect(try seen("4, \(5)").isTyped)
        #expect(try seen("6") == Seen(text: "6", isTyped: true))
    }
}
