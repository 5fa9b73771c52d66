import RepriseCore
import RepriseNotices
import RepriseWire
import Testing

@Suite("An extension's decision about a push")
struct PushJudgeTests {
    private func judged(
        _ hint: PushHint, _ mirror: NoticeMirror?, _ records: [ShownRecord] = [],
        at now: WallTime = Pushes.now
    ) -> PushJudge.Judgement {
        PushJudge(mirror: mirror, records: records, now: now).judge(Pushes.request(hint))
    }

    private func isSilent(_ judgement: PushJudge.Judgement) -> Bool {
        !judgement.content.sound && judgement.content.interruption == .passive
            && judgement.content.body == "Hello"
    }

    @Test("nothing speaks against it: it is shown as it came, with the right badge")
    func new() throws {
        let judgement = judged(
            try Pushes.hint("m11", seq: 11, badge: (4, 5)), Pushes.mirror())
        #expect(judgement.content.sound && judgement.content.interruption == nil)
        #expect(judgement.content.badge == 4)
        #expect(judgement.record?.reason == "new")
    }

    @Test("read, own and already shown messages make no sound")
    func readMineShown() throws {
        let hint = try Pushes.hint("m5", seq: 5, badge: (9, 5))
        #expect(isSilent(judged(hint, Pushes.mirror(read: 5))))
        #expect(judged(hint, Pushes.mirror(read: 5)).record?.reason == "read")
        let mine = try Pushes.hint("m11", seq: 11, from: "me")
        #expect(isSilent(judged(mine, Pushes.mirror())))
        var mirror = Pushes.mirror()
        mirror.shown = ["m11"]
        let again = try Pushes.hint("m11", seq: 11)
        #expect(judged(again, mirror).record?.reason == "shown")
        let record = try #require(judged(again, Pushes.mirror()).record)
        #expect(isSilent(judged(again, Pushes.mirror(), [record])))
    }

    @Test("a push for the former user is neither shown nor recorded")
    func foreign() throws {
        var hint = try Pushes.hint("m11", seq: 11, badge: (4, 5))
        hint.to = try UserID("somebody")
        let judgement = judged(hint, Pushes.mirror())
        #expect(!judgement.content.sound && judgement.content.interruption == .passive)
        #expect(judgement.content.title.isEmpty && judgement.content.body == "…")
        #expect(judgement.content.badge == nil)
        #expect(judgement.record == nil)
        hint.to = try UserID("me")
        #expect(judged(hint, Pushes.mirror()).record?.reason == "new")
    }

    @Test("a muted message makes no sound until the mute is over")
    func muted() throws {
        let hint = try Pushes.hint("m11", seq: 11)
        var mirror = Pushes.mirror()
        mirror.channelMutes["room"] = .init()
        #expect(isSilent(judged(hint, mirror)))
        mirror.channelMutes["room"] = .init(until: Pushes.now.milliseconds)
        #expect(judged(hint, mirror).content.sound)
        mirror.senderMutes["ada"] = .init(until: Pushes.now.milliseconds + 1)
        #expect(judged(hint, mirror).record?.reason == "senderMuted")
    }

    @Test(
        "quiet hours go over midnight, by the clock of their own zone",
        arguments: [
            ("Europe/Berlin", 21, false), ("Europe/Berlin", 22, true), ("Europe/Berlin", 5, true),
            ("Europe/Berlin", 6, false), ("Asia/Tokyo", 14, true), ("Asia/Tokyo", 22, false),
            ("Nowhere/Land", 23, false),
        ])
    func quiet(zone: String, hourUTC: Int64, isQuiet: Bool) throws {
        let midnight: Int64 = 1_767_225_600_000  // 2026-01-01T00:00Z
        var mirror = Pushes.mirror()
        mirror.quiet = ["23:00", "07:00", zone]
        let hint = try Pushes.hint("m11", seq: 11)
        let now = WallTime(milliseconds: midnight + hourUTC * 3_600_000)
        #expect(isSilent(judged(hint, mirror, at: now)) == isQuiet)
    }

    @Test("without a mirror everything is shown: nothing is hidden by mistake")
    func blind() throws {
        let judge = PushJudge(mirror: nil, withoutMirror: .journalNewer, now: Pushes.now)
        let judgement = judge.judge(Pushes.request(try Pushes.hint("m1", seq: 1)))
        #expect(judgement.content.sound && judgement.content.badge == 99)
        #expect(judgement.record?.withoutMirror == "journalNewer")
    }

    @Test(
        "permission that the app has seen withdrawn is the system's to judge, which runs the extension"
    )
    func permission() throws {
        var mirror = Pushes.mirror()
        mirror.settings.authorization = .denied
        #expect(judged(try Pushes.hint("m11", seq: 11), mirror).content.sound)
    }

    @Test(
        "a payload that is malformed in whatever way is shown as it came",
        arguments: [
            "", "{", "null", "[]", "{}", #"{"reprise":null}"#, #"{"reprise":{}}"#,
            #"{"reprise":{"kind":"alert"}}"#,
            #"{"reprise":{"kind":"shout","channelId":"a","seq":1,"head":1}}"#,
            #"{"reprise":{"kind":"alert","channelId":"a b","seq":1,"head":1,"id":"x"}}"#,
            #"{"reprise":{"kind":"alert","channelId":"a","seq":-1,"head":1,"id":"x"}}"#,
            #"{"reprise":{"kind":"alert","channelId":"a","seq":1e99,"head":1,"id":"x"}}"#,
            #"{"reprise":{"kind":"alert","channelId":"a","seq":1,"head":1}}"#,
            #"{"reprise":{"kind":"alert","channelId":"a","seq":1,"head":1,"id":"\ud800"}}"#,
            #"{"reprise":{"kind":"dismiss","channelId":"a","seq":1,"head":1}}"#,
            #"{"reprise":{"kind":"alert","channelId":"a","seq":1,"head":1,"id":"x","badge":3}}"#,
            String(repeating: "[", count: 4_000), "\u{0}\u{0}", #"{"reprise":"#,
        ])
    func malformed(payload: String) {
        let request = Pushes.request(payload)
        let judgement = PushJudge(mirror: Pushes.mirror(), now: Pushes.now).judge(request)
        #expect(judgement.content == request.content && judgement.record == nil)
    }

    @Test(
        "random bytes, and a good payload with each of its bytes changed, end in an answer that has its text"
    )
    func mangled() throws {
        let good = Array(Pushes.payload(try Pushes.hint("m11", seq: 11, badge: (4, 5))).utf8)
        var generator = SystemRandomNumberGenerator()
        for index in good.indices {
            var bytes = good
            bytes[index] = UInt8.random(in: 0...255, using: &generator)
            var request = Pushes.request("")
            request.content.info = bytes
            let judgement = PushJudge(mirror: Pushes.mirror(), now: Pushes.now).judge(request)
            #expect(judgement.content.body == "Hello" && judgement.content.title == "Ada")
        }
    }

    @Test(
        "a push that names its author shows the conversation, silent or not; of another's nothing")
    func conversation() throws {
        var hint = try Pushes.hint("m11", seq: 11)
        #expect(judged(hint, Pushes.mirror()).content.conversation == nil)
        (hint.sender, hint.picture) = ("Ada L.", "https://example.org/ada.png")
        let direct = NotificationConversation(
            id: "room", sender: "ada", name: "Ada L.", picture: "https://example.org/ada.png")
        #expect(judged(hint, Pushes.mirror()).content.conversation == direct)
        #expect(judged(hint, nil).content.conversation == direct)
        let read = judged(hint, Pushes.mirror(read: 11))
        #expect(isSilent(read) && read.content.conversation == direct)
        hint.title = "The room"
        #expect(judged(hint, Pushes.mirror()).content.conversation?.group == "The room")
        hint.to = try UserID("somebody")
        #expect(judged(hint, Pushes.mirror()).content.conversation == nil)
    }

    @Test("a time-sensitive push stays it, unless nothing of it is to be heard")
    func timeSensitive() throws {
        let judge = PushJudge(mirror: Pushes.mirror(), now: Pushes.now)
        var request = Pushes.request(try Pushes.hint("m11", seq: 11))
        request.content.interruption = .timeSensitive
        request.content.relevance = 0.5
        let shown = judge.judge(request).content
        #expect(shown.interruption == .timeSensitive && shown.relevance == 0.5)
        let read = PushJudge(mirror: Pushes.mirror(read: 11), now: Pushes.now)
        #expect(read.judge(request).content.interruption == .passive)
    }
}
