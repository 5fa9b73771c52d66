import Foundation
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseWire

/// Shows the channels' state, once a second, without reading their messages.
///
/// Messages stay in the journal for their reader: watching changes nothing.
struct DebugWatch: Sendable {
    enum Source: Sendable {
        case client(AccountClient)
        /// The folder of a journal that another process owns.
        case journal(URL)
    }

    let source: Source
    let channels: [String]
    let isJSON: Bool

    /// Runs until the task is cancelled, or the client gives up.
    func run() async throws {
        guard case .client(let reprise) = source else {
            do { try await show() } catch is CancellationError {}
            return
        }
        for name in channels { try await reprise.channel(name).subscribe() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await reprise.run() }
            group.addTask { try await show() }
            defer { group.cancelAll() }
            do { while try await group.next() != nil {} } catch is CancellationError {}
        }
    }

    private func show() async throws {
        var above = 0
        while true {
            let view = try await view()
            if isJSON {
                try StandardOutput.write(view.json)
            } else {
                let isLive = Terminal.output.isInteractive
                let width = Terminal.output.size.width
                let lines =
                    isLive
                    ? Terminal.output.rows(of: view.lines).map { $0.fitting(width) } : view.lines
                // In its own place where a person looks, one below the other elsewhere.
                let back = isLive && above > 0 ? "\u{1b}[\(above)F\u{1b}[J" : ""
                try StandardOutput.writeRaw(Array(back.utf8))
                try StandardOutput.write(lines.joined(separator: "\n"))
                above = lines.count
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func view() async throws -> DebugView {
        switch source {
        case .client(let reprise): try await view(of: reprise)
        case .journal(let folder): try view(ofJournalAt: folder)
        }
    }

    private func view(ofJournalAt folder: URL) throws -> DebugView {
        let rows = try channels.map { name in
            let diagnostics = try ChannelDiagnostics(
                ofJournalAt: folder, try ChannelName(name), schemas: AccountClient.featureSchemas)
            return DebugView.Row(channel: name, diagnostics: diagnostics, isOwn: false)
        }
        return DebugView(connection: nil, reconnects: 0, lastError: nil, rows: rows)
    }

    private func view(of reprise: AccountClient) async throws -> DebugView {
        let connection = await reprise.channels.diagnostics
        var rows: [DebugView.Row] = []
        for name in channels {
            let diagnostics = try await reprise.channel(name).diagnostics
            rows.append(DebugView.Row(channel: name, diagnostics: diagnostics))
        }
        return DebugView(
            connection: connection.state, reconnects: connection.reconnects,
            lastError: connection.lastError?.line, rows: rows)
    }
}
