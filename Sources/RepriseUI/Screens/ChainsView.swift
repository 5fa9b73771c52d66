// Not run by the project's own tests, which run on Linux; compiled only with SwiftUI. What is shown
// is computed by ChainsModel and ChainDetailModel.
#if canImport(SwiftUI)
    public import Reprise
    public import SwiftUI

    /// The State Viewer: the chains of the current account, and what can be done to each.
    ///
    /// ```swift
    /// NavigationStack { ChainsView(client) }
    /// ```
    public struct ChainsView: View {
        @State private var chains: ChainsModel

        /// Shows the chains of a client, inside of a navigation stack.
        public init(_ client: RepriseClient) { chains = ChainsModel(client) }

        /// The list.
        public var body: some View {
            List {
                Picker("Show", selection: $chains.filter) {
                    ForEach(ChainsModel.Filter.allCases) { filter in
                        Text(filter.title).tag(filter)
                    }
                }
                .pickerStyle(.segmented)
                if let placeholder = chains.placeholder { Text(placeholder) }
                ForEach(chains.rows) { row in
                    NavigationLink {
                        ChainDetailView(chain: chains.detail(of: row.id))
                    } label: {
                        ChainRowView(row: row)
                    }
                }
                if chains.hasMore {
                    Button("Older chains") { Task { await chains.loadMore() } }
                }
            }
            .navigationTitle("Chains")
            .task { await chains.follow() }
        }
    }

    private struct ChainRowView: View {
        let row: ChainListRow

        var body: some View {
            VStack(alignment: .leading) {
                HStack {
                    Text(row.title).font(.headline)
                    Spacer()
                    Text(row.state).foregroundStyle(row.tone.color)
                }
                ProgressView(value: row.fraction)
                Text(row.progress)
                Text(row.time).font(.caption).foregroundStyle(.secondary)
                if let name = row.name { Text(name).font(.caption) }
                if let reason = row.reason { Text(reason).font(.caption) }
            }
        }
    }

    private struct ChainDetailView: View {
        @State private var chain: ChainDetailModel
        @State private var asked = ChainAction.cancel
        @State private var isAsking = false

        init(chain: ChainDetailModel) { self.chain = chain }

        var body: some View {
            List {
                if let fault = chain.fault { Text(fault.message).foregroundStyle(.red) }
                if let detail = chain.detail {
                    Section("Chain") {
                        ForEach(detail.facts) { fact in LabeledContent(fact.id, value: fact.value) }
                    }
                    Section("Actions") {
                        ForEach(detail.actions) { action in
                            Button(action.title, role: action.isDestructive ? .destructive : nil) {
                                asked = action
                                isAsking = action.isDestructive
                                if !isAsking { perform(action) }
                            }
                        }
                    }
                    ForEach(detail.steps) { step in
                        Section(step.title) {
                            ForEach(step.tasks) { task in ChainTaskView(task: task) }
                        }
                    }
                    Section("Log") {
                        ForEach(detail.log.indices, id: \.self) { line in
                            Text(detail.log[line]).font(.caption)
                        }
                    }
                }
            }
            .navigationTitle(chain.detail?.row.title ?? "Chain")
            .task { await chain.follow() }
            .confirmationDialog("\(asked.title) this chain?", isPresented: $isAsking) {
                Button(asked.title, role: .destructive) { perform(asked) }
            }
        }

        private func perform(_ action: ChainAction) { Task { await chain.perform(action) } }
    }

    private struct ChainTaskView: View {
        let task: ChainDetail.Task

        var body: some View {
            VStack(alignment: .leading) {
                HStack {
                    Text(task.id)
                    Spacer()
                    Text(task.state).foregroundStyle(task.tone.color)
                }
                Text(task.worker).font(.caption).foregroundStyle(.secondary)
                if let fraction = task.fraction { ProgressView(value: fraction) }
                if let attempts = task.attempts { Text(attempts).font(.caption) }
                ForEach(task.lines, id: \.self) { line in Text(line).font(.caption) }
            }
        }
    }

    extension RowTone {
        var color: Color {
            switch self {
            case .plain: .primary
            case .good: .green
            case .waiting: .orange
            case .bad: .red
            }
        }
    }
#endif
