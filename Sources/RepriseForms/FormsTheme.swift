import Foundation
import RepriseCore
import RepriseWire

/// How forms look: colours, corners, the size of texts, light or dark.
///
/// ```swift
/// var theme = FormsTheme()
/// theme.light[.accent] = "#00695c"
/// theme.corner = 8
/// configuration.forms?.theme = theme
/// ```
///
/// A theme that cannot be read well is refused when the client is opened: texts stand out by 4.5 to
/// 1 from what is behind them, edges and buttons by 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11).
public struct FormsTheme: Hashable, Sendable {
    /// The colours of a form.
    public enum Color: String, Hashable, Sendable, CaseIterable {
        /// Behind everything.
        case paper
        /// Texts.
        case ink
        /// Hints.
        case soft
        /// The edges of inputs.
        case edge
        /// Behind plain buttons.
        case wash
        /// Behind the primary button, around the focus.
        case accent
        /// The primary button's label.
        case onAccent
        /// What is wrong with an answer.
        case danger
    }

    /// Which of both palettes is used.
    public enum Appearance: String, Hashable, Sendable, CaseIterable {
        /// As the system is.
        case system
        /// Always the light one.
        case light
        /// Always the dark one.
        case dark
    }

    /// Which palette is used.
    public var appearance = Appearance.system
    /// Colours in light, as `#rrggbb`; the standard ones for those that are absent.
    public var light: [Color: String] = [:]
    /// Colours in dark, as `#rrggbb`; the standard ones for those that are absent.
    public var dark: [Color: String] = [:]
    /// The radius of corners in points, 0 to 40; nil: the standard one, which grows with the text.
    public var corner: Double?
    /// Multiplies the system's size of text, 0.5 to 3.
    public var fontScale = 1.0

    /// The standard theme.
    public init() {}

    /// Reads a theme: an object of `appearance`, `light`, `dark`, `corner` and `fontScale`, all
    /// optional.
    ///
    /// - Parameter json: such as `{"light": {"accent": "#00695c"}, "corner": 8}`.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`; `.badConfiguration` for a theme that
    ///   would be refused.
    public init(json: String) throws {
        let bytes = Array(json.utf8)
        try JSONScanner.validate(bytes)
        let value = try? JSONDecoder().decode(CatalogueValue.self, from: Data(bytes))
        guard case .object(let members)? = value else {
            throw RepriseError(.malformed, "A theme is a JSON object.")
        }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            switch (name, value) {
            case ("corner", .number(let points)): corner = points
            case ("fontScale", .number(let factor)): fontScale = factor
            case ("light", .object(let colors)): light = try Self.colors(colors)
            case ("dark", .object(let colors)): dark = try Self.colors(colors)
            case ("appearance", .string(let text)) where Appearance(rawValue: text) != nil:
                appearance = Appearance(rawValue: text) ?? .system
            default:
                throw RepriseError(
                    .malformed, "A theme has no member \(name.prefix(64)) of this kind.",
                    remedy: "It has appearance (system, light, dark), light, dark, corner, "
                        + "fontScale.")
            }
        }
        try check()
    }

    private static func colors(_ members: [String: CatalogueValue]) throws -> [Color: String] {
        var colors: [Color: String] = [:]
        for (name, value) in members {
            guard let color = Color(rawValue: name), let text = value.text else {
                throw RepriseError(
                    .malformed, "A theme has no colour \(name.prefix(64)).",
                    remedy: "It has "
                        + Color.allCases.map(\.rawValue).joined(separator: ", ") + ".")
            }
            colors[color] = text
        }
        return colors
    }

    // MARK: Checking

    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    package func check() throws {
        func bad(_ what: String) -> RepriseError { RepriseError(.badConfiguration, what) }
        guard Self.corners.contains(corner ?? 0) else {
            throw bad("A corner has 0 to 40 points.")
        }
        guard Self.scales.contains(fontScale) else {
            throw bad("Texts are scaled by 0.5 to 3, not by \(fontScale).")
        }
        for (scheme, own, standard) in [
            ("light", light, Self.light), ("dark", dark, Self.dark),
        ] {
            let all = standard.merging(own) { $1 }
            for color in Color.allCases where Self.channels(all[color]) == nil {
                throw bad(
                    "The colour \(color.rawValue) in \(scheme) is no #rrggbb: "
                        + "\((all[color] ?? "").prefix(32)).")
            }
            for (front, back, least) in Self.pairs {
                let ratio = Self.contrast(all[front], all[back])
                guard ratio >= least else {
                    throw bad(
                        "In \(scheme) \(front.rawValue) has a contrast of "
                            + "\((ratio * 10).rounded(.down) / 10) to 1 on \(back.rawValue); "
                            + "\(least) is needed.")
                }
            }
        }
    }

    static let corners = 0.0...40.0
    static let scales = 0.5...3.0
    /// Of texts and of edges, to 1.
    static let (textContrast, edgeContrast) = (4.5, 3.0)

    /// What has to stand out from what, and by how much.
    private static let pairs: [(front: Color, back: Color, least: Double)] = [
        (.ink, .paper, textContrast), (.soft, .paper, textContrast),
        (.danger, .paper, textContrast), (.onAccent, .accent, textContrast),
        (.ink, .wash, textContrast), (.soft, .wash, textContrast),
        (.edge, .paper, edgeContrast), (.accent, .paper, edgeContrast),
    ]

    /// The standard colours, as `Web/forms.js` has them.
    package static let light: [Color: String] = [
        .paper: "#ffffff", .ink: "#16181d", .soft: "#5a616d", .edge: "#868d99", .wash: "#eef0f4",
        .accent: "#2850c8", .onAccent: "#ffffff", .danger: "#b3261e",
    ]
    package static let dark: [Color: String] = [
        .paper: "#1d1f24", .ink: "#f2f3f6", .soft: "#adb4c0", .edge: "#7d8591", .wash: "#2b2e35",
        .accent: "#9db8ff", .onAccent: "#0a1636", .danger: "#ffb0a8",
    ]

    /// Red, green and blue, 0 to 1.
    private static func channels(_ text: String?) -> [Double]? {
        let digits = (text ?? "").utf8.dropFirst()
        guard text?.utf8.first == UInt8(ascii: "#"), digits.count == 6,
            digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let number = Int(text?.dropFirst() ?? "", radix: 16)
        else { return nil }
        return [16, 8, 0].map { Double(number >> $0 & 255) / 255 }
    }

    /// As WCAG 2.2 defines it: 1 to 21.
    private static func contrast(_ left: String?, _ right: String?) -> Double {
        let lights = [left, right].map { color in
            zip([0.2126, 0.7152, 0.0722], channels(color) ?? []).reduce(0) { sum, part in
                let (weight, value) = part
                return sum + weight
                    * (value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4))
            }
        }.sorted()
        return (lights[1] + 0.05) / (lights[0] + 0.05)
    }

    // MARK: Writing

    /// As the page reads it: docs/forms/bridge.md.
    package var json: [UInt8] {
        var writer = JSONWriter()
        func write(_ colors: [Color: String], _ json: inout JSONWriter) {
            json.object { json in
                for color in Color.allCases {
                    guard let text = colors[color] else { continue }
                    json.key(plain: color.rawValue)
                    json.string(text.lowercased())
                }
            }
        }
        writer.object { json in
            json.key("appearance")
            json.plain(appearance.rawValue)
            json.key("fontScale")
            json.raw(Array("\(fontScale)".utf8))
            if let corner {
                json.key("corner")
                json.raw(Array("\(corner)".utf8))
            }
            json.key("light")
            write(light, &json)
            json.key("dark")
            write(dark, &json)
        }
        return writer.bytes
    }
}
