import Foundation
import RepriseCore
import RepriseForms
import Testing

/// The style of forms, as it stands in forms.js: what every reader needs, in light and in dark.
@Suite("Page: style")
struct PageStyleTests {
    private let style: String
    private let script: String

    init() throws {
        let file = try #require(FormsPage.page(session: "s").files["/forms.js"])
        script = String(decoding: file.bytes, as: UTF8.self)
        let start = try #require(script.range(of: "const style = `"))
        let rest = script[start.upperBound...]
        style = String(rest[..<(try #require(rest.range(of: "`;"))).lowerBound])
    }

    /// The colours of each scheme, by name, as they stand in the script.
    private var palettes: [[FormsTheme.Color: String]] {
        get throws {
            let start = try #require(script.range(of: "const palettes = {"))
            let end = try #require(
                script.range(of: "\n  };", range: start.upperBound..<script.endIndex))
            return script[start.upperBound..<end.lowerBound].components(separatedBy: "dark: {").map
            {
                var palette: [FormsTheme.Color: String] = [:]
                for match in $0.matches(of: /([a-zA-Z]+): '(#[0-9a-f]{6})'/) {
                    guard let color = FormsTheme.Color(rawValue: String(match.1)) else { continue }
                    palette[color] = String(match.2)
                }
                return palette
            }
        }
    }

    @Test("the page has the standard colours of the theme, whose contrast is checked")
    func colors() throws {
        let palettes = try self.palettes
        #expect(palettes == [FormsTheme.light, FormsTheme.dark])
        #expect(palettes.allSatisfy { $0.count == FormsTheme.Color.allCases.count })
        try FormsTheme().check()
    }

    @Test("every size of text follows the size that the person has chosen")
    func dynamicText() {
        let sizes = style.matches(of: /font-size: ([^;]+);/).map { String($0.1) }
        #expect(sizes.count > 3)
        #expect(sizes.allSatisfy { $0.hasSuffix("em") || $0.hasSuffix("rem") })
        #expect(style.contains("font: -apple-system-body"))
    }

    @Test("nothing moves where the person has asked for less motion")
    func motion() {
        let (asked, moving) = ("@media (prefers-reduced-motion: no-preference) {", "animation")
        let parts = style.components(separatedBy: asked)
        #expect(parts.count == 2)
        #expect(!parts[0].contains(moving) && !style.contains("transition"))
        let block = parts[1].components(separatedBy: "\n    }\n")
        #expect(block[0].contains(moving))
        #expect(!block.dropFirst().joined().contains(moving))
    }
}
