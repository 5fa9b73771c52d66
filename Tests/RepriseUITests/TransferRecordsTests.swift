import Foundation
import RepriseApple
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Results of a background session's transfers", .timeLimit(.minutes(1)))
struct TransferRecordsTests {
    /// A task of a session, whose end the test reports.
    private final class SessionTask: TransferTask {
        var taskDescription: String?
        private(set) var isCancelled = false

        init(_ id: String) { taskDescription = id }

        func cancel() { isCancelled = true }
    }

    private static let head = HTTPHead(status: 200, headers: [:])
    private let folder: TemporaryFolder
    private let records: TransferRecords

    init() throws {
        folder = try TemporaryFolder()
        records = TransferRecords(in: folder.url)
    }

    private var files: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? []).sorted()
    }

    private func download(_ text: String, by task: SessionTask) throws {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-\(UUID().uuidString)")
        try Data(text.utf8).write(to: file)
        records.downloaded(task, to: file)
        try? FileManager.default.removeItem(at: file)
    }

    private func end(_ task: SessionTask, _ state: Transfer.State = .cancelled) {
        records.ended(task) { Transfer(id: $0, state: state, bytes: 4) }
    }

    private func content(of transfer: Transfer?) -> String? {
        guard case .finished(Self.head, let file?)? = transfer?.state else { return nil }
        return try? String(contentsOf: file, encoding: .utf8)
    }

    @Test("stay until they are forgotten, also for the next process")
    func kept() throws {
        let task = SessionTask("a")
        try download("text", by: task)
        end(task, .finished(Self.head, file: nil))
        #expect(content(of: records.all.first) == "text")
        let next = TransferRecords(in: folder.url)
        #expect(next.all == records.all)
        try next.forget("a", of: [])
        #expect(next.all.isEmpty && files.isEmpty)
    }

    @Test("that are reported after their transfer was cancelled and forgotten leave nothing")
    func late() async throws {
        let (task, other) = (SessionTask("a"), SessionTask("b"))
        var changes = records.changes.open().makeAsyncIterator()
        try records.forget("a", of: [task, other])
        #expect(task.isCancelled && !other.isCancelled)
        try download("text", by: task)
        end(task)
        #expect(records.all.isEmpty && files.isEmpty)
        end(other)
        #expect(records.all.map(\.id) == ["b"])
        #expect(await changes.next()?.id == "b")
    }

    @Test("of a second task of the same id are dropped, when the first one's is taken")
    func secondTask() throws {
        let (first, second) = (SessionTask("a"), SessionTask("a"))
        try download("first", by: first)
        end(first, .finished(Self.head, file: nil))
        #expect(content(of: records.all.first) == "first")
        try records.forget("a", of: [second])
        #expect(second.isCancelled)
        try download("second", by: second)
        end(second, .finished(Self.head, file: nil))
        #expect(records.all.isEmpty && files.isEmpty)
    }

    @Test("whose file is gone are dropped, so that the transfer begins anew")
    func missingFile() throws {
        let task = SessionTask("a")
        try download("text", by: task)
        end(task, .finished(Self.head, file: nil))
        let file = try #require(files.first { $0.hasSuffix("content") })
        try FileManager.default.removeItem(at: folder.appending(file))
        #expect(records.all.isEmpty && files.isEmpty)
        // An upload has none.
        end(task, .finished(Self.head, file: nil))
        #expect(records.all.map(\.state) == [.finished(Self.head, file: nil)])
    }

    @Test("of ids whose Base64 differs in case alone have files of their own")
    func caseOfNames() throws {
        let ids = ["hi", "\0i"]
        #expect(Set(ids.map { Data($0.utf8).base64EncodedString().lowercased() }).count == 1)
        for id in ids {
            let task = SessionTask(id)
            try download(id, by: task)
            end(task, .finished(Self.head, file: nil))
        }
        #expect(Set(files.map { $0.lowercased() }).count == 4)
        for id in ids {
            #expect(content(of: records.all.first { $0.id == id }) == id)
        }
    }

    @Test("that the disk refuses stay in memory, and are written later")
    func refused() throws {
        let errors = Seen<Void>()
        let missing = folder.appending("missing")
        let records = TransferRecords(in: missing) { _ in errors.add(()) }
        records.ended(SessionTask("a")) { Transfer(id: $0, state: .cancelled) }
        #expect(records.all.map(\.id) == ["a"] && errors.count == 2)
        try FileManager.default.createDirectory(at: missing, withIntermediateDirectories: true)
        #expect(records.all.map(\.id) == ["a"] && errors.count == 2)
        #expect(TransferRecords(in: missing).all.map(\.id) == ["a"])
    }
}
