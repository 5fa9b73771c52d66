import Foundation
import RepriseCommandLine
import RepriseCore
import UnixSignals

/// The chat in a terminal: draws changes, and passes input to the room.
struct ChatKeyboard: Sendable {
    /// However much changes, it is drawn no more often than this.
    static let frame = Duration.milliseconds(33)

    let room: ChatRoom
    let terminal: RawTerminal
    let keys: ChatKeys
    /// Raised when the conversation changes, at a key, and when the window's size changes.
    let changed: Signal
    private let line = TypedLine()

    /// Runs until the person ends it, the terminal is gone, or the task is cancelled.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await draw() }
            group.addTask { await resize() }
            // The others never end: the keyboard ends the group.
            defer { group.cancelAll() }
            do { try await type() } catch is CancellationError {}
        }
    }

    private func type() async throws {
        while let pressed = try await keys.next() {
            await room.attended()
            for (place, key) in pressed.enumerated() {
                if key == .redraw { await line.redraw() }
                switch await line.press(key) {
                case .submitted(let text):
                    guard await room.perform(ChatCommandLine(text)) else {
                        return await keys.giveBack(pressed[(place + 1)...])
                    }
                case .ended: return
                case .changed: await room.typed(await line.text)
                case .ignored: break
                }
            }
            changed.raise()
        }
    }

    private func draw() async throws {
        while true {
            let (width, height) = Terminal.output.size
            let screen = ChatScreen(width: width, height: height, terminal: .output)
            let (editor, everything) = await line.shown()
            terminal.show(screen.draw(await room.snapshot, editor), everything: everything)
            try await Task.sleep(for: Self.frame)
            await changed.wait()
            try Task.checkCancellation()
        }
    }

    private func resize() async {
        for await _ in await UnixSignalsSequence(trapping: .sigwinch) {
            await line.redraw()
            changed.raise()
        }
    }
}

/// The input line, shared by the keyboard and the screen.
private actor TypedLine {
    private var editor = LineEditor()
    private var isStale = false

    var text: String { editor.text }

    func press(_ key: Key) -> LineEditor.Outcome { editor.press(key) }

    /// All of the screen is drawn again at the next time.
    func redraw() { isStale = true }

    func shown() -> (LineEditor, everything: Bool) {
        defer { isStale = false }
        return (editor, isStale)
    }
}
