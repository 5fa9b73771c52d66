import Foundation
import RepriseCore
import RepriseForms
import Testing

/// The style of forms, as it stands in forms.js: what every reader needs, in light and in dark.
@Suite("Page: style")
struct PageStyleTests {
    private let style: String

    init() throws {
        let file = try #require(FormsPage.page(session: "s").files["/forms.js"])
        let script = String(decoding: file.bytes, as: UTF8.self)
        let start = try #require(script.range(of: "const style = `"))
        let rest = script[start.upperBound...]
        style = String(rest[..<(try #require(rest.range(of: "`;"))).lowerBound])
    }

    /// The colours of each scheme, by name, as red, green and blue.
    private var palettes: [[String: [Double]]] {
        style.components(separatedBy: "prefers-color-scheme: dark").map { part in
            var palette: [String: [Double]] = [:]
            for match in part.matches(of: /--([a-z-]+): #([0-9a-f]{6});/) {
                let number = Int(match.2, radix: 16) ?? 0
                palette[String(match.1)] = [16, 8, 0].map {
                    Double(number >> $0 & 255) / 255
                }
            }
            return palette
        }
    }

    /// As WCAG 2.2 defines it.
    private static func contrast(_ left: [Double], _ right: [Double]) -> Double {
        let lights = [left, right].map { colour in
            zip([0.2126, 0.7152, 0.0722], colour).reduce(0) { sum, part in
                let (weight, value) = part
                return sum + weight
                    * (value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4))
            }
        }.sorted()
        return (lights[1] + 0.05) / (lights[0] + 0.05)
    }

    @Test(
        "text stands out by 4.5 to 1 from what is behind it, edges by 3 to 1, in light and in dark",
        arguments: [
            ("ink", "paper", 4.5), ("soft", "paper", 4.5), ("danger", "paper", 4.5),
            ("on-accent", "accent", 4.5), ("ink", "wash", 4.5), ("soft", "wash", 4.5),
            ("edge", "paper", 3), ("accent", "paper", 3),
        ])
    func contrast(front: String, back: String, least: Double) throws {
        #expect(palettes.count == 2)
        for palette in palettes {
            let ratio = Self.contrast(
                try #require(palette[front]), try #require(palette[back]))
            #expect(ratio >= least, "\(front) on \(back): \(ratio)")
        }
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
