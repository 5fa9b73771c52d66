/// The width of text in a terminal.
///
/// By blocks of Unicode rather than by its tables of widths: terminals differ in the rest
/// themselves.
extension Character {
    /// 0 to 2 columns.
    package var columns: Int {
        guard let scalar = unicodeScalars.first else { return 0 }
        if unicodeScalars.contains(where: { $0 == "\u{fe0f}" }) { return 2 }
        if scalar.isCombining { return 0 }
        return scalar.isWide ? 2 : 1
    }
}

extension String {
    /// How many columns it takes.
    package var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Its beginning that fits, with an ellipsis where something is missing.
    package func fitting(_ width: Int) -> String {
        guard columns > width else { return self }
        return prefix(columns: width - 1) + "…"
    }

    /// Its longest suffix that fits: the text before a cursor.
    package func ending(_ width: Int) -> String {
        var rest = width
        var text = ""
        for character in reversed() {
            rest -= character.columns
            guard rest >= 0 else { break }
            text.insert(character, at: text.startIndex)
        }
        return text
    }

    /// As many characters from its beginning as fit.
    package func prefix(columns width: Int) -> String {
        var rest = width
        var text = ""
        for character in self {
            rest -= character.columns
            guard rest >= 0 else { break }
            text.append(character)
        }
        return text
    }

    /// Broken into lines of a width, between words where that is possible.
    package func wrapped(_ width: Int) -> [String] {
        guard width > 2, columns > width else { return [self] }
        var lines: [String] = []
        var (line, used) = ("", 0)
        for word in split(separator: " ", omittingEmptySubsequences: false).map(String.init) {
            let space = line.isEmpty ? "" : " "
            let columns = word.columns
            if used + space.count + columns <= width {
                line += space + word
                used += space.count + columns
                continue
            }
            if !line.isEmpty { lines.append(line) }
            (line, used) = ("", 0)
            for character in word {
                if used + character.columns > width {
                    lines.append(line)
                    (line, used) = ("", 0)
                }
                line.append(character)
                used += character.columns
            }
        }
        return lines + [line]
    }
}

extension Unicode.Scalar {
    fileprivate var isCombining: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: true
        default: false
        }
    }

    /// East Asian wide and full-width, and emoji.
    fileprivate var isWide: Bool {
        switch value {
        case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff,
            0xa000...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60,
            0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f680...0x1f6ff, 0x1f900...0x1f9ff,
            0x1fa70...0x1faff, 0x20000...0x3fffd:
            true
        // ✅ and ⭐, which stand among narrow ones, and the two letters of a flag.
        default: properties.isEmojiPresentation
        }
    }
}
