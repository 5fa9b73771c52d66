import Foundation
import RepriseCommandLine
import RepriseSimulator

/// The chart: shown messages by time and way, with the range of the assumptions, and the inputs
/// that move the case study's claim.
struct ReachSVG {
    let report: ReachReport

    /// Checks that a file can be written.
    ///
    /// - Throws: ``CommandFailure`` if it cannot.
    static func check(_ path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var isFolder: ObjCBool = false
        let files = FileManager.default
        let isThere = files.fileExists(atPath: path, isDirectory: &isFolder)
        guard !(isThere && isFolder.boolValue),
            isThere ? files.isWritableFile(atPath: path) : files.isWritableFile(atPath: folder)
        else { throw CommandFailure(.cannotCreate, "The file \(path) cannot be written.") }
    }

    func write(to path: String) throws {
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandFailure(.cannotCreate, "The file \(path) cannot be written.")
        }
    }

    // MARK: The sheet

    private static let width = 960.0
    private static let left = 280.0
    private static let right = 920.0

    private static let colours = ["#1b5e8c", "#3d8fc1", "#93c4e0", "#c9cdd2"]
    private static let ink = "#1d2733"
    private static let soft = "#5d6b7a"
    private static let claimColour = "#d9822b"

    var text: String {
        let above = waysPanel(top: 112)
        let below = claimPanel(top: above.bottom + 62)
        let height = below.bottom + 64
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(Self.width.plain) \(height.plain)\" "
                + "font-family=\"Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif\" "
                + "role=\"img\" aria-labelledby=\"title summary\">",
            "<title id=\"title\">What share of messages is shown, and when</title>",
            "<desc id=\"summary\">\(Self.escaped(summary))</desc>",
            "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
            label(40, 46, "What share of messages is shown, and when", size: 23, weight: 650),
            label(
                40, 72,
                "\(report.devices.grouped) simulated devices, \(report.days) days, \(report.messages.grouped) messages, "
                    + "seed \(report.seed); the decision and the limits are the code that ships",
                size: 13.5, colour: Self.soft),
        ]
        lines += above.lines + below.lines
        lines.append(
            label(
                40, height - 24,
                "reprise-lab reach · shares of all messages · thick mark: 95 % error of the simulation · thin line: "
                    + "middle 90 % of \(report.draws.grouped) draws of all inputs from their ranges",
                size: 11.5, colour: Self.soft))
        lines.append("</svg>")
        return lines.joined(separator: "\n") + "\n"
    }

    private var summary: String {
        report.modes.map { mode in
            let shares = ReachHorizon.allCases.map {
                "\(mode.within[$0.rawValue].value.share.percent) % within \($0.title)"
            }
            return "\(mode.mode.title): \(shares.joined(separator: ", "))"
        }.joined(separator: "; ") + "."
    }

    // MARK: The ways

    private func waysPanel(top: Double) -> (lines: [String], bottom: Double) {
        let row = 19.0
        let group = row * 4 + 18
        let bottom = top + 22 + group * Double(report.modes.count)
        var lines = grid(from: top + 14, to: bottom - 8)
        lines += claimBand(from: top + 14, to: bottom - 8)
        for (index, mode) in report.modes.enumerated() {
            let begin = top + 30 + group * Double(index)
            lines.append(
                label(40, begin + row * 1.9, mode.mode.title, size: 14.5, weight: 600))
            let rows =
                ReachHorizon.allCases.map { ("within \($0.title)", mode.within[$0.rawValue]) }
                + [("only at open", mode.atOpen)]
            for (place, entry) in rows.enumerated() {
                lines += bar(
                    y: begin + row * Double(place), name: entry.0, figure: entry.1,
                    colour: Self.colours[place])
            }
            if index > 0 {
                lines.append(rule(40, begin - 10, Self.right, begin - 10, "#e6e9ed"))
            }
        }
        return (lines, bottom)
    }

    private func bar(y: Double, name: String, figure: ReachReport.Figure, colour: String)
        -> [String]
    {
        let value = x(figure.value.share)
        let middle = y + 6.5
        let least = x(figure.value.share - figure.value.error)
        let most = x(figure.value.share + figure.value.error)
        return [
            label(Self.left - 10, y + 10.5, name, size: 11.5, colour: Self.soft, anchor: "end"),
            "<rect x=\"\(n(Self.left))\" y=\"\(n(y))\" width=\"\(n(max(value - Self.left, 0.5)))\" height=\"13\" rx=\"1.5\" fill=\"\(colour)\"/>",
            rule(x(figure.low), middle, x(figure.high), middle, Self.ink, width: 1.2),
            rule(x(figure.low), middle - 3.5, x(figure.low), middle + 3.5, Self.ink, width: 1.2),
            rule(x(figure.high), middle - 3.5, x(figure.high), middle + 3.5, Self.ink, width: 1.2),
            "<rect x=\"\(n(least))\" y=\"\(n(middle - 2.5))\" width=\"\(n(max(most - least, 1.5)))\" height=\"5\" fill=\"\(Self.ink)\"/>",
            label(
                Self.right - 52, y + 10.5, "\(figure.value.share.percent) %", size: 12, weight: 600,
                anchor: "end"),
            label(
                Self.right, y + 10.5, "\(figure.low.percent)–\(figure.high.percent)", size: 11,
                colour: Self.soft, anchor: "end"),
        ]
    }

    /// The case study's claimed share.
    private func claimBand(from top: Double, to bottom: Double) -> [String] {
        let low = x(ReachReport.claimed[0])
        let high = x(ReachReport.claimed[1])
        return [
            "<rect x=\"\(n(low))\" y=\"\(n(top))\" width=\"\(n(high - low))\" height=\"\(n(bottom - top))\" fill=\"\(Self.claimColour)\" opacity=\"0.18\"/>",
            label(
                (low + high) / 2, top - 20, "the claim: 90–95 %", size: 11.5, colour: "#a85d12",
                weight: 600,
                anchor: "middle"),
        ]
    }

    // MARK: The claim

    private func claimPanel(top: Double) -> (lines: [String], bottom: Double) {
        guard let mode = report[.sockets] else { return ([], top) }
        let swings = mode.swings[ReachReport.judged.rawValue].prefix(7)
        let value = mode.within[ReachReport.judged.rawValue].value.share
        let row = 27.0
        let bottom = top + 34 + row * Double(swings.count)
        var lines = [
            label(
                40, top - 8, "What moves it: sockets only, within 1 min, one input at a time",
                size: 15,
                weight: 600)
        ]
        lines += grid(from: top + 24, to: bottom)
        lines += claimBand(from: top + 24, to: bottom).prefix(1)
        for (index, swing) in swings.enumerated() {
            let y = top + 33 + row * Double(index)
            let range = report.inputs[swing.input].range
            let (low, high) = (min(swing.atLow, swing.atHigh), max(swing.atLow, swing.atHigh))
            let isUp = swing.atHigh >= swing.atLow
            let ends = isUp ? (range.low, range.high) : (range.high, range.low)
            lines += [
                label(
                    Self.left - 10, y + 12, swing.input.label, size: 12, colour: Self.ink,
                    anchor: "end"),
                "<rect x=\"\(n(x(low)))\" y=\"\(n(y + 1))\" width=\"\(n(max(x(high) - x(low), 1.5)))\" height=\"14\" rx=\"1.5\" fill=\"#3d8fc1\"/>",
                label(
                    x(low) - 6, y + 12, ends.0.plain, size: 11, colour: Self.soft, anchor: "end",
                    halo: true),
                label(x(high) + 6, y + 12, ends.1.plain, size: 11, colour: Self.soft, halo: true),
            ]
        }
        lines.append(rule(x(value), top + 24, x(value), bottom, Self.ink, width: 1.2))
        return (
            lines + answers(from: bottom + 36), bottom + 36 + 21 * Double(answerTexts.count) - 14
        )
    }

    private func answers(from top: Double) -> [String] {
        answerTexts.enumerated().map { index, text in
            label(40, top + 21 * Double(index), text, size: 12.5)
        }
    }

    /// The deciding inputs, and the values that the claim would need, in a line for each.
    private var answerTexts: [String] {
        let deciding = report.modes.compactMap { mode in
            mode.swings[ReachReport.judged.rawValue].first.map {
                "\(mode.mode.title): \($0.input.label) (\($0.atLow.percent) → \($0.atHigh.percent) %)"
            }
        }
        let lines =
            ["Within 1 min decides most: " + deciding.joined(separator: "; ") + "."]
            + ReachMode.allCases.compactMap(need)
        return lines.flatMap { $0.wrapped(112) }
    }

    private func need(_ mode: ReachMode) -> String? {
        guard let best = report.favourable[mode],
            let asked = report.requirements.first(where: {
                $0.mode == mode && $0.isIdeal && $0.input == .backgroundSeconds
            })
        else { return nil }
        let needs =
            switch asked.answer {
            case .met: "needs nothing more"
            case .needs(let value, _):
                "needs \((value / 60).short) min of background time after each use"
            case .never(let most, _):
                "is out of reach, even if the app always runs (\(most.percent) %)"
            }
        return
            "\(mode.title): \(best.percent) % within 1 min with every input at the better end of its range. "
            + "90 % \(needs), though nobody refuses, mutes or force-quits and no network fails."
    }

    // MARK: Pieces

    private func x(_ share: Double) -> Double {
        Self.left + (Self.right - 112 - Self.left) * min(max(share, 0), 1)
    }

    private func grid(from top: Double, to bottom: Double) -> [String] {
        stride(from: 0, through: 100, by: 20).flatMap { percent in
            let place = x(Double(percent) / 100)
            return [
                rule(place, top, place, bottom, percent == 0 ? "#9aa5b1" : "#e6e9ed"),
                label(
                    place, top - 5, "\(percent)\(percent == 100 ? " %" : "")", size: 11,
                    colour: Self.soft, anchor: "middle"),
            ]
        }
    }

    private func rule(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ colour: String,
        width: Double = 1
    ) -> String {
        "<line x1=\"\(n(x1))\" y1=\"\(n(y1))\" x2=\"\(n(x2))\" y2=\"\(n(y2))\" stroke=\"\(colour)\" stroke-width=\"\(width.plain)\"/>"
    }

    private func label(
        _ x: Double, _ y: Double, _ text: String, size: Double, colour: String = ReachSVG.ink,
        weight: Int = 400, anchor: String = "start", halo: Bool = false
    ) -> String {
        let edge =
            halo ? " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"" : ""
        return "<text x=\"\(n(x))\" y=\"\(n(y))\" font-size=\"\(size.plain)\" fill=\"\(colour)\" "
            + "font-weight=\"\(weight)\" text-anchor=\"\(anchor)\"\(edge)>\(Self.escaped(text))</text>"
    }

    /// A length with one digit behind the point.
    private func n(_ length: Double) -> String { ((length * 10).rounded() / 10).plain }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(
            ">", with: "&gt;")
    }
}
