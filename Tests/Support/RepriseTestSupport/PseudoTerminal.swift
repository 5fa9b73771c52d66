package import Foundation
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// The binary in a terminal of its own, and what a person would see there.
///
/// `@unchecked Sendable`: set up before it is shared; then its screen is locked and only its number
/// is used.
package final class PseudoTerminal: @unchecked Sendable {
    private let process = Process()
    private let master: Int32
    private let screen: Mutex<TerminalScreen>
    private let ended: AsyncStream<Int32>
    /// Whether all it wrote is on the screen.
    private let isDrained = Mutex(false)

    package init(
        _ arguments: [String], of program: URL = Tool.Program.reprise.url, in folder: URL? = nil,
        environment: [String: String] = [:], width: Int = 80, height: Int = 24
    ) throws {
        let name: String
        (master, name) = try Self.open()
        var size = winsize(
            ws_row: UInt16(height), ws_col: UInt16(width), ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(master, UInt(TIOCSWINSZ), &size) == 0)
        let slave = try #require(FileHandle(forUpdatingAtPath: name))
        screen = Mutex(TerminalScreen(width: width, height: height))
        let (ended, continuation) = AsyncStream<Int32>.makeStream()
        self.ended = ended
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = ["PATH": "/usr/bin:/bin", "TERM": "xterm"]
            .merging(environment) { $1 }
        process.standardInput = slave
        process.standardOutput = slave
        process.standardError = slave
        process.terminationHandler = {
            continuation.yield(
                $0.terminationReason == .uncaughtSignal
                    ? -$0.terminationStatus : $0.terminationStatus)
            continuation.finish()
        }
        try process.run()
        try slave.close()
        let descriptor = master
        Thread.detachNewThread { [weak self] in
            var bytes = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(descriptor, &bytes, bytes.count)
                // Linux says EIO when the last slave is closed.
                guard let self else { return }
                guard count > 0 else { return self.isDrained.withLock { $0 = true } }
                self.screen.withLock { $0.take(bytes[..<count]) }
            }
        }
    }

    private static func open() throws -> (master: Int32, slave: String) {
        #if canImport(Darwin)
            let master = posix_openpt(O_RDWR | O_NOCTTY)
            try #require(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0)
            return (master, try #require(ptsname(master).map { String(cString: $0) }))
        #else
            // glibc shows posix_openpt to X/Open programs alone; underneath it is this
            // (ioctl_tty(2)).
            let setLock: UInt = 0x4004_5431
            let getNumber: UInt = 0x8004_5430
            let master = Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            var (lock, number): (Int32, UInt32) = (0, 0)
            try #require(master >= 0 && ioctl(master, setLock, &lock) == 0)
            try #require(ioctl(master, getNumber, &number) == 0)
            return (master, "/dev/pts/\(number)")
        #endif
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        close(master)
    }

    package var rows: [String] { screen.withLock { $0.before ?? $0.rows } }
    package var text: String { rows.joined(separator: "\n") }
    /// Whether the terminal was given back: the other screen is left.
    package var isRestored: Bool { screen.withLock { $0.isRestored } }
    /// Whether anything was coloured.
    package var hasColours: Bool { screen.withLock { $0.hasColours } }

    /// Whether a line was wider than the terminal while that wraps lines.
    package var hasWrapped: Bool { screen.withLock { $0.hasWrapped } }

    /// How often the screen was drawn, in whole or in part.
    package var drawings: Int { screen.withLock { $0.drawings } }

    package func type(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Does nothing if it has ended: its number may be another's.
    package func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// Waits for the exit status, which is negative for a signal, and for all it wrote.
    ///
    /// Kills it at the limit, in seconds.
    package func end(within limit: Double = 50) async -> Int32 {
        let number = process.processIdentifier
        let watchdog = Task {
            try await Task.sleep(for: .seconds(limit))
            kill(number, SIGKILL)
        }
        defer { watchdog.cancel() }
        var status: Int32?
        for await exit in ended { status = exit }
        // Its last words may still be in the terminal. Another process started meanwhile may hold
        // the terminal open, so not for ever.
        let deadline = ContinuousClock.now + .seconds(10)
        while !isDrained.withLock({ $0 }), ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(2))
        }
        return status ?? process.terminationStatus
    }

    /// Waits until the screen satisfies a condition.
    package func wait(
        seconds: Double = 50, _ what: String, until condition: ([String]) -> Bool
    ) async throws {
        try await eventually("\(what): not in time:\n\(text)", within: .seconds(seconds)) {
            condition(rows)
        }
    }
}

/// As much of a terminal as the chat uses.
private struct TerminalScreen {
    private(set) var rows: [String]
    /// What it showed before it is drawn anew, while that is under way.
    private(set) var before: [String]?
    private(set) var isRestored = false
    private(set) var hasColours = false
    private(set) var drawings = 0
    private(set) var hasWrapped = false
    private var wraps = true
    private let width: Int
    private var row = 0
    private var pending: [UInt8] = []

    init(width: Int, height: Int) {
        self.width = width
        rows = Array(repeating: "", count: height)
    }

    mutating func take(_ bytes: ArraySlice<UInt8>) {
        pending += bytes
        // What is cut in the middle of a character or a sequence waits for the rest.
        guard let end = pending.lastIndex(where: { $0 < 0x80 }) else { return }
        var whole = Array(pending[...end])
        pending.removeFirst(end + 1)
        if let escape = whole.lastIndex(of: 0x1b),
            !whole[escape...].contains(where: {
                (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
            })
        {
            pending = Array(whole[escape...]) + pending
            whole.removeSubrange(escape...)
        }
        for piece in String(decoding: whole, as: UTF8.self)
            .split(separator: "\u{1b}", omittingEmptySubsequences: false).enumerated()
        {
            piece.offset == 0 ? write(piece.element) : sequence(piece.element)
        }
    }

    private mutating func sequence(_ text: Substring) {
        guard let end = text.firstIndex(where: { $0.isLetter }) else { return }
        let parameters = text[..<end].dropFirst()
        switch text[end] {
        case "H": row = (parameters.split(separator: ";").first.flatMap { Int($0) } ?? 1) - 1
        case "J": rows = rows.map { _ in "" }
        case "K": if rows.indices.contains(row) { rows[row] = "" }
        case "l" where parameters == "?1049": isRestored = true
        case "l" where parameters == "?7": wraps = false
        case "h" where parameters == "?7": wraps = true
        // The cursor is hidden while it is drawn.
        case "l" where parameters == "?25":
            drawings += 1
            before = rows
        case "h" where parameters == "?25": before = nil
        case "m": hasColours = true
        default: break
        }
        write(text[text.index(after: end)...])
    }

    private mutating func write(_ text: Substring) {
        guard rows.indices.contains(row), !text.isEmpty else { return }
        rows[row] += text
        let isWide = rows[row].split(whereSeparator: \.isNewline).contains { $0.count > width }
        hasWrapped = hasWrapped || wraps && isWide
    }
}
