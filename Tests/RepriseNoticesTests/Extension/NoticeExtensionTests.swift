import Dispatch
import Foundation
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("An extension and its folder")
struct NoticeExtensionTests {
    private let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder() }

    private var mirror: URL { folder.appending("mirror.json") }

    private func records() throws -> [ShownRecord] {
        try Spool(at: folder.url).waiting(of: NoticeKinds.shown, newest: 1_000).map {
            try ShownRecord(payload: $0)
        }
    }

    private func content(_ hint: PushHint) async -> NotificationContent {
        await NoticeExtension(at: folder.url).content(for: Pushes.request(hint))
    }

    @Test(
        "a mirror that is missing, of a newer version, damaged or no file hides nothing, and the record says why",
        arguments: [
            (nil, "missing"), (#"{"version":2,"writtenAt":1,"value":{}}"#, "journalNewer"),
            ("{", "malformed"),
            (#"{"version":1,"writtenAt":1,"value":{"badge":"x"}}"#, "malformed"),
            (String(repeating: "\n[", count: 600), "malformed"),
            (String(repeating: "x", count: 70_000), "tooLarge"),
        ] as [(String?, String)])
    func badMirror(text: String?, why: String) async throws {
        if let text { try Data(text.utf8).write(to: mirror) }
        let shown = await content(try Pushes.hint("m1", seq: 1, badge: (1, 1)))
        #expect(shown.sound && shown.body == "Hello" && shown.badge == 1)
        #expect(try records().map(\.withoutMirror) == [why])
    }

    @Test(
        "the mirror that the app replaces is whole at each moment, and the app takes the records over"
    )
    func together() async throws {
        let journal = try await Journal.open(
            at: folder.url, kinds: Notices.kinds(), schemas: [Notices.schema])
        let place = Mirror<NoticeMirror>(in: folder.url, version: NoticeMirror.version)
        try await journal.replace(place, with: Pushes.mirror())
        let writer = Task {
            for round in 0..<50 {
                try await journal.replace(place, with: Pushes.mirror(badge: Int64(round)))
            }
        }
        for seq in 1...20 { _ = await content(try Pushes.hint("m\(seq)", seq: Int64(seq))) }
        try await writer.value
        let withMirror = try records().filter { $0.withoutMirror == nil }.count
        #expect(withMirror == 20)
        let report = try await journal.mergeSpool()
        #expect(report.accepted == 20 && report.rejected.isEmpty)
        #expect(try records().isEmpty)
        // Once more: it was merged already, and is one entry.
        _ = await content(try Pushes.hint("m1", seq: 1))
        #expect(try await journal.mergeSpool().duplicates == 1)
        await journal.close()
    }

    @Test(
        "a spool that is full or cannot be written keeps nothing from being shown",
        .limit("noticeSettings.spool"))
    func fullSpool() async throws {
        let spool = folder.appending("spool")
        try FileManager.default.createDirectory(at: spool, withIntermediateDirectories: true)
        for number in 0..<JournalLimits.spoolFiles {
            try Data().write(to: spool.appendingPathComponent("\(number).json"))
        }
        #expect(await content(try Pushes.hint("m1", seq: 1)).sound)
        #expect(try records().isEmpty)
        try FileManager.default.removeItem(at: spool)
        try Data().write(to: spool)
        #expect(await content(try Pushes.hint("m1", seq: 1)).sound)
    }

    @Test("of its own records the newest 256 are read", .limit("noticeSettings.records"))
    func manyRecords() async throws {
        let journal = try await Journal.open(
            at: folder.url, kinds: Notices.kinds(), schemas: [Notices.schema])
        try await journal.replace(
            Mirror<NoticeMirror>(in: folder.url, version: NoticeMirror.version),
            with: Pushes.mirror(head: 10, badge: 3))
        await journal.close()
        var badge: Int?
        for seq in 11...Int64(270) {
            badge = await content(try Pushes.hint("m\(seq)", seq: seq)).badge
            if seq == 266 { #expect(badge == 3 + 256, "255 before it, and it") }
        }
        #expect(badge == 3 + 256 + 1, "256 of the 259 before it, and it")
        #expect(try records().count == 260)
    }

    @Test(
        "at the end of its time the extension shows its decision so far",
        .limit("noticeSettings.extension"))
    func expires() async throws {
        for step in NoticeExtension.Step.allCases {
            let (steps, reached) = AsyncStream<Void>.makeStream()
            let gate = DispatchSemaphore(value: 0)
            let clock = ManualClock()
            let notice = NoticeExtension(at: folder.url, budget: .seconds(20), timekeeper: clock) {
                guard $0 == step else { return }
                reached.yield()
                gate.wait()
            }
            let request = Pushes.request(try Pushes.hint("at-\(step)", seq: 1, badge: (5, 1)))
            async let content = notice.content(for: request)
            var iterator = steps.makeAsyncIterator()
            _ = await iterator.next()
            try await eventually("the time runs") { !clock.sleepers.isEmpty }
            if step == .read { clock.advance(by: .seconds(20)) } else { notice.timeWillExpire() }
            let shown = await content
            #expect(shown.body == "Hello")
            #expect(shown.badge == (step == .began || step == .read ? 99 : 5))
            gate.signal()
        }
    }

    @Test(
        "a mirror of 500 channels with long names and 1,000 mutes fits, positions first to go",
        .limit("noticeSettings.mirror"))
    func fits() async throws {
        let long = { (number: Int) in String(repeating: "n", count: 120) + "\(number)" }
        var mirror = Pushes.mirror()
        for number in 0..<500 {
            mirror.standings[long(number)] = .init(read: 1, before: 0, head: 2)
            mirror.channelMutes[long(number)] = .init()
        }
        let order = (0..<500).map(long)
        let fitted = mirror.fitted(order: order)
        let journal = try await Journal.open(
            at: folder.url, kinds: Notices.kinds(), schemas: [Notices.schema])
        try await journal.replace(Mirror<NoticeMirror>(in: folder.url), with: fitted)
        #expect(fitted.channelMutes.count >= 250)
        await journal.close()
        var small = Pushes.mirror()
        for number in 0..<300 { small.standings["c\(number)"] = .init(read: 1, before: 0, head: 2) }
        #expect(small.fitted() == small)
    }
}
