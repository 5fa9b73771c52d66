import RepriseCommandLine
import RepriseCore

/// A key press.
enum Key: Hashable, Sendable {
    case character(Unicode.Scalar)
    case enter, backspace, delete, tab
    case left, right, up, down, home, end
    case deleteToStart, deleteToEnd, deleteWord
    case redraw
    case endOfInput
}

/// Turns the bytes of a terminal into keys, however they are cut into reads.
///
/// Bytes that are no key that it knows are dropped: a terminal sends whatever its maker thought of.
struct KeyDecoder: Sendable {
    /// A sequence that is longer than any terminal's is not one.
    static let longestSequence = 32

    private enum State {
        case plain
        case escape
        /// Behind `ESC [`: the parameters until now.
        case sequence([UInt8])
        /// Behind `ESC O`.
        case single
    }

    private var state = State.plain
    private var utf8: [UInt8] = []
    private var isPasting = false

    /// - Parameter bytes: the input.
    /// - Returns: the complete keys so far.
    mutating func decode(_ bytes: [UInt8]) -> [Key] { bytes.compactMap { decode($0) } }

    private mutating func decode(_ byte: UInt8) -> Key? {
        switch state {
        case .plain: return plain(byte)
        case .escape:
            state =
                switch byte {
                case UInt8(ascii: "["): .sequence([])
                case UInt8(ascii: "O"): .single
                case 0x1b: .escape
                default: .plain
                }
            return nil
        case .single:
            state = .plain
            return Self.arrow(byte)
        case .sequence(let parameters):
            guard !(0x40...0x7e).contains(byte) else {
                state = .plain
                return sequence(parameters, byte)
            }
            state =
                parameters.count < Self.longestSequence ? .sequence(parameters + [byte]) : .plain
            return nil
        }
    }

    private mutating func plain(_ byte: UInt8) -> Key? {
        if byte >= 0x80 { return continued(byte) }
        utf8 = []
        switch byte {
        case 0x1b:
            state = .escape
            return nil
        // A line break in what is pasted is part of the text: it must not send half of it.
        case 0x0d, 0x0a: return isPasting ? .character(" ") : .enter
        case 0x7f, 0x08: return .backspace
        case 0x09: return isPasting ? .character(" ") : .tab
        case 0x00..<0x20: return isPasting ? nil : Self.control(byte)
        default: return .character(Unicode.Scalar(byte))
        }
    }

    /// A byte of a character of several.
    private mutating func continued(_ byte: UInt8) -> Key? {
        if byte >= 0xc0 { utf8 = [] }
        utf8.append(byte)
        let text = String(decoding: utf8, as: UTF8.self)
        guard text.unicodeScalars.count == 1, let scalar = text.unicodeScalars.first,
            scalar != "\u{fffd}"
        else {
            if utf8.count >= 4 { utf8 = [] }
            return nil
        }
        utf8 = []
        return scalar.isControl ? nil : .character(scalar)
    }

    private static func control(_ byte: UInt8) -> Key? {
        switch byte {
        case 0x01: .home
        case 0x02: .left
        case 0x04: .endOfInput
        case 0x05: .end
        case 0x06: .right
        case 0x0b: .deleteToEnd
        case 0x0c: .redraw
        case 0x0e: .down
        case 0x10: .up
        case 0x15: .deleteToStart
        case 0x17: .deleteWord
        default: nil
        }
    }

    private static func arrow(_ byte: UInt8) -> Key? {
        switch byte {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "H"): .home
        default: nil
        }
    }

    private mutating func sequence(_ parameters: [UInt8], _ final: UInt8) -> Key? {
        guard final == UInt8(ascii: "~") else { return Self.arrow(final) }
        switch String(decoding: parameters, as: UTF8.self) {
        case "1", "7": return .home
        case "3": return .delete
        case "4", "8": return .end
        case "200": isPasting = true
        case "201": isPasting = false
        default: break
        }
        return nil
    }
}
