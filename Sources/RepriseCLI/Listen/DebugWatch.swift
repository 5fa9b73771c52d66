import Reprise
import RepriseChannels
import RepriseCore
import Synchronization

/// Shows where channels stand, once a second, without reading a message of them.
///
/// What comes is kept in the journal for whoever reads it: looking on changes nothing.
struct DebugWatch: Sendable {
    let reprise: Reprise
    let channels: [String]
    let isJSON: Bool

    /// What the connection has been through.
    private final class Story: Sendable {
        private let state = Mutex((now: ConnectionState.idle, connected: 0, error: String?.none))

        func changed(to new: ConnectionState) {
            state.withLock { state in
                state.now = new
                switch new {
                case .connected: state.connected += 1
                case .waiting(_, let reason), .stopped(let reason):
                    state.error = reason.description
                case .stuck(let error): state.error = error.message
                case .idle, .connecting: break
                }
            }
        }

        var shown: (now: ConnectionState, reconnects: Int, error: String?) {
            state.withLock { ($0.now, max($0.connected - 1, 0), $0.error) }
        }
    }

    /// Runs until the task is cancelled, or the client gives up.
    func run() async throws {
        let story = Story()
        for name in channels { try await reprise.channel(name).subscribe() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await state in reprise.channels.connectionStates { story.changed(to: state) }
            }
            group.addTask { try await reprise.run() }
            group.addTask { try await show(story) }
            defer { group.cancelAll() }
            do { while try await group.next() != nil {} } catch is CancellationError {}
        }
    }

    private func show(_ story: Story) async throws {
        var above = 0
        while true {
            let view = try view(story)
            if isJSON {
                try StandardOutput.write(view.json)
            } else {
                let lines = view.lines
                let isLive = Terminal.output.isInteractive
                // In its own place where a person looks, one below the other elsewhere.
                let back = isLive && above > 0 ? "\u{1b}[\(above)F\u{1b}[J" : ""
                try StandardOutput.write(back + lines.joined(separator: "\n"))
                above = lines.count
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func view(_ story: Story) throws -> DebugView {
        let (now, reconnects, error) = story.shown
        return DebugView(
            connection: now, reconnects: reconnects, lastError: error,
            rows: try channels.map { try row($0) })
    }

    private func row(_ name: String) throws -> DebugView.Row {
        let state = try reprise.channel(name).state
        var row = DebugView.Row(channel: name, state: state)
        switch state {
        case .catchingUp(let received, let total): row.missing = total - received
        case .repairing(let missing), .stalled(let missing): row.missing = missing
        case .live: row.missing = 0
        case .refused(_, let message): row.lastError = message
        case .closed, .subscribing, .beyondRetention: break
        }
        return row
    }
}
