import Foundation
import Reprise
import RepriseTestSupport
import Testing

/// The article on reading: its code is this code.
@Suite("The article on reading")
struct ReadingArticleTests {
    private struct Store: Sendable {
        func add(_ id: EntryID, _ json: String) async throws {}
        func replace(_ sequence: Int64, with json: String) async throws {}
        func remove(_ sequence: Int64) async throws {}
        func apply(_ sequence: Int64, _ json: String) async throws {}
        func replaceAll(with state: String, at position: Int64) async throws {}
    }

    private struct API: Sendable {
        func state(of channel: ChannelName) async throws -> String { "" }
    }

    private func handle(_ general: TypedChannel<String>, _ store: Store) async throws {
        try await general.consume(as: "inbox") { message in
            switch message.change {
            case nil: try await store.add(message.id, message.rawJSON)
            case .edits(let sequence): try await store.replace(sequence, with: message.rawJSON)
            case .deletes(let sequence): try await store.remove(sequence)
            }
        }
        let inOrder = ReaderOptions(order: .ordered)
        try await general.consume(as: "balance", options: inOrder) { message in
            try await store.apply(message.seq, message.rawJSON)
        }
    }

    private func list(
        _ general: TypedChannel<String>, show: ([ListedMessage<String>]) async -> Void
    ) async throws {
        for await messages in general.messages(newest: 50) {
            await show(messages)
        }
        let newest = try await general.page(limit: 50)
        let older = try await general.page(before: newest.first?.seq, limit: 50)
        #expect(older.isEmpty)
        try await general.setVisible(true)
        try await general.setVisible(false)
    }

    private func rest(_ general: TypedChannel<String>, _ store: Store, _ api: API) async throws {
        try await general.onSnapshot { request in
            let state = try await api.state(of: request.channel)
            try await store.replaceAll(with: state, at: request.position)
        }
        let diagnostics = try await general.diagnostics
        print(diagnostics.state, diagnostics.missing, diagnostics.rate, diagnostics.duplicates)
    }

    @Test("Every line of code in the article is compiled here")
    func compiled() throws {
        let file = URL(fileURLWithPath: #filePath)
        let article = Command.root.appending(path: "docs/Reprise.docc/Reading.md")
        let here = Set(lines(try String(contentsOf: file, encoding: .utf8)))
        let blocks = try String(contentsOf: article, encoding: .utf8)
            .components(separatedBy: "```swift\n").dropFirst()
        #expect(blocks.count == 7)
        for block in blocks {
            for line in lines(block.components(separatedBy: "```")[0]) {
                #expect(here.contains(line))
            }
        }
    }

    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
