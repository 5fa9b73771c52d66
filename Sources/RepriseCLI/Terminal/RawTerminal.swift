import Foundation
import RepriseCommandLine
import Synchronization

/// The terminal in raw mode with the screen to itself; restored at the end.
///
/// SIGKILL leaves it in raw mode: `reset` repairs it.
final class RawTerminal: Sendable {
    private let saved: Mutex<termios?>
    private let shown = Mutex<[String]>([])

    /// - Returns: nil if standard input or output is no terminal.
    init?() {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
            ProcessInfo.processInfo.environment["TERM"] != "dumb",
            tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        saved = Mutex(settings)
        settings.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN)
        settings.c_iflag &= ~tcflag_t(ICRNL | IXON)
        // Ctrl-C still ends the program; Ctrl-Z and Ctrl-\ would leave the terminal in raw mode.
        Self.disable(VSUSP, in: &settings)
        Self.disable(VQUIT, in: &settings)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) == 0 else { return nil }
        // Another screen, so that the shell's is there afterwards; and pasted text marked as such.
        Self.send("\u{1b}[?1049h\u{1b}[?2004h\u{1b}[2J")
    }

    deinit { restore() }

    /// Restores the terminal; a second call does nothing.
    func restore() {
        let settings = saved.withLock { saved in
            defer { saved = nil }
            return saved
        }
        guard var settings else { return }
        Self.send("\u{1b}[?2004l\u{1b}[?25h\u{1b}[?1049l")
        _ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    /// Shows a picture; only lines that are others than before are sent.
    func show(_ picture: ChatScreen.Picture, everything: Bool = false) {
        let text = shown.withLock { shown in
            var text = "\u{1b}[?25l"
            let all = everything || shown.count != picture.lines.count
            if all { text += "\u{1b}[2J" }
            for (row, line) in picture.lines.enumerated() where all || shown[row] != line {
                text += "\u{1b}[\(row + 1);1H\u{1b}[2K" + HarmlessText.text(line)
            }
            shown = picture.lines
            return text + "\u{1b}[\(picture.lines.count);\(picture.cursor + 1)H\u{1b}[?25h"
        }
        Self.send(text)
    }

    private static func send(_ text: String) {
        // The end of the terminal is known from its input.
        try? FileOutput.write(Array(text.utf8), to: STDOUT_FILENO)
    }

    /// `_POSIX_VDISABLE`, a macro that Swift does not see.
    #if canImport(Darwin)
        private static let disabledKey: UInt8 = 0xff
    #else
        private static let disabledKey: UInt8 = 0
    #endif

    private static func disable(_ key: Int32, in settings: inout termios) {
        withUnsafeMutableBytes(of: &settings.c_cc) { keys in
            keys[Int(key)] = disabledKey
        }
    }
}
