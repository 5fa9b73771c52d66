// Not run by the project's own tests, which run on Linux; compiled only with SwiftUI. What is shown
// is computed by DebugModel.
#if canImport(SwiftUI)
    public import Reprise
    public import SwiftUI

    /// The debug screen: client, connection, coverage, outbox and ledger of the current account.
    ///
    /// ```swift
    /// .sheet(isPresented: $isDebugging) { DebugView(client) }
    /// ```
    public struct DebugView: View {
        @State private var debug: DebugModel

        /// Shows the figures of a client.
        public init(_ client: RepriseClient) { debug = DebugModel(client) }

        /// The list of all sections.
        public var body: some View {
            List {
                if let fault = debug.fault { Text(fault.message).foregroundStyle(.red) }
                ForEach(debug.sections) { section in
                    Section(section.id) {
                        ForEach(section.rows) { row in DebugRowView(row: row, debug: debug) }
                    }
                }
                Button("Connect now") { Task { await debug.reconnect() } }
            }
            .task { await debug.follow() }
        }
    }

    private struct DebugRowView: View {
        let row: DebugSection.Row
        let debug: DebugModel

        var body: some View {
            VStack(alignment: .leading) {
                HStack {
                    Text(row.title)
                    Spacer()
                    Text(row.value).foregroundStyle(row.tone.color)
                }
                if let detail = row.detail {
                    Text(detail).font(.caption).foregroundStyle(.secondary)
                }
                if let letter = row.letter {
                    HStack {
                        Button("Send again") { Task { await debug.resend(letter) } }
                        Button("Withdraw", role: .destructive) {
                            Task { await debug.withdraw(letter) }
                        }
                    }
                    .buttonStyle(.borderless)
                }
            }
        }
    }
#endif
