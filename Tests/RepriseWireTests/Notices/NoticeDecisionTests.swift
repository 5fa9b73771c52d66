import Foundation
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

/// The table of docs/notices/decision.md against the function.
struct NoticeDecisionTests {
    /// A row of the table, and when it holds by its own words.
    private struct Row {
        var reason: String
        var shown: Set<String>
        var endsBanner: Bool
    }

    private static func rows() throws -> [Row] {
        let page = try String(
            contentsOf: Command.root.appending(path: "docs/notices/decision.md"), encoding: .utf8)
        return page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            return Row(
                reason: cells[0].trimmingCharacters(in: ["`"]),
                shown: cells[2] == "–" ? [] : Set(cells[2].components(separatedBy: ", ")),
                endsBanner: cells[3] == "goes")
        }
    }

    /// One state of everything that the rows name.
    private struct Case {
        var mine, deleted, read, before, onScreen, quiet, caughtUp, old: Bool
        var shown: NoticeState.Shown
        /// 0: not muted, 1: muted, 2: muted and this is a mention that comes through, 3: muted
        /// until a moment ago.
        var senderMute, channelMute: Int
        var authorization: NotificationSettings.Authorization

        /// The words of the table, without the code.
        func holds(_ reason: String) -> Bool {
            switch reason {
            case "mine": mine
            case "deleted": deleted
            case "read": read
            case "before": before
            case "onScreen": onScreen
            case "shown": shown != .never
            case "senderMuted": senderMute == 1
            case "channelMuted": channelMute == 1
            case "notPermitted": authorization == .denied || authorization == .notDetermined
            case "quiet": quiet
            case "late": caughtUp && old
            case "provisional": authorization == .provisional
            case "new": true
            default: false
            }
        }
    }

    private static func cases() -> [Case] {
        var all: [Case] = []
        for bits in 0..<256 {
            let flags = (0..<8).map { bits & (1 << $0) != 0 }
            for shown in NoticeState.Shown.allCases {
                for mutes in 0..<16 {
                    for authorization in NotificationSettings.Authorization.allCases {
                        all.append(
                            Case(
                                mine: flags[0], deleted: flags[1], read: flags[2],
                                before: flags[3], onScreen: flags[4], quiet: flags[5],
                                caughtUp: flags[6], old: flags[7], shown: shown,
                                senderMute: mutes / 4, channelMute: mutes % 4,
                                authorization: authorization))
                    }
                }
            }
        }
        return all
    }

    private static let now = WallTime(milliseconds: 1_700_000_000_000)

    private static func mute(_ kind: Int) -> NoticeState.Mute {
        switch kind {
        case 0: .none
        case 3: .until(now, exceptMentions: false)
        default: .until(now.advanced(by: .seconds(1)), exceptMentions: kind == 2)
        }
    }

    private static func decide(
        _ state: Case, _ settings: (inout NotificationSettings) -> Void = { _ in }
    ) throws -> NoticeDecision {
        let (ada, bob) = (try UserID("ada"), try UserID("bob"))
        let general = try ChannelName("general")
        let notice = Notice(
            id: try EntryID("m"), channel: general, seq: 10, sender: state.mine ? ada : bob,
            isMention: state.senderMute == 2 || state.channelMute == 2, isDeleted: state.deleted,
            published: now.advanced(by: .seconds(state.old ? -301 : -300)),
            source: state.caughtUp ? .catchUp : .live)
        var allowed = NotificationSettings(authorization: state.authorization)
        settings(&allowed)
        var now = NoticeState(me: ada, settings: allowed, now: Self.now)
        now.read = state.read ? 10 : 9
        now.before = state.before ? 10 : 9
        now.shown = state.shown
        now.onScreen = state.onScreen ? general : try ChannelName("other")
        now.isQuiet = state.quiet
        now.senderMute = mute(state.senderMute)
        now.channelMute = mute(state.channelMute)
        return NoticeDecision.decide(notice, in: now)
    }

    private static func words(_ presentation: PresentationOptions) -> Set<String> {
        var words: Set<String> = []
        if presentation.contains(.banner) { words.insert("banner") }
        if presentation.contains(.list) { words.insert("list") }
        if presentation.contains(.sound) { words.insert("sound") }
        if presentation.contains(.badge) { words.insert("badge") }
        return words
    }

    @Test("the table has each reason of the code once, in the order in which the code asks")
    func tableIsComplete() throws {
        #expect(
            try Self.rows().map(\.reason) == NoticeDecision.Reason.allCases.map(\.rawValue))
    }

    @Test("every combination of what the table names is decided as its first row that holds says")
    func tableIsTheFunction() throws {
        let rows = try Self.rows()
        var met: Set<String> = []
        for state in Self.cases() {
            let decision = try Self.decide(state)
            // A mention that comes through one mute is a mention for the other too.
            var state = state
            if state.senderMute == 2 || state.channelMute == 2 {
                if state.senderMute == 1 || state.channelMute == 1 { continue }
                (state.senderMute, state.channelMute) = (0, 0)
            }
            let row = try #require(rows.first { state.holds($0.reason) })
            met.insert(row.reason)
            guard
                decision.reason.rawValue == row.reason,
                Self.words(decision.presentation) == row.shown,
                decision.removesBanner == (state.shown == .standing && row.endsBanner)
            else {
                Issue.record("\(state) is \(decision), and the table says \(row)")
                return
            }
        }
        #expect(met.count == rows.count)
    }

    @Test("a mention comes through a mute that lets mentions through, and through no other")
    func mentions() throws {
        var state = Case(
            mine: false, deleted: false, read: false, before: false, onScreen: false,
            quiet: false, caughtUp: false, old: false, shown: .never, senderMute: 2,
            channelMute: 1, authorization: .authorized)
        #expect(try Self.decide(state).reason == .channelMuted)
        state.channelMute = 2
        #expect(try Self.decide(state).reason == .new)
    }

    @Test("presentations switched off in the system's settings are removed, and nothing else")
    func settings() throws {
        let state = Case(
            mine: false, deleted: false, read: false, before: false, onScreen: false,
            quiet: false, caughtUp: false, old: false, shown: .never, senderMute: 0,
            channelMute: 0, authorization: .authorized)
        #expect(
            try Self.words(Self.decide(state) { $0.alerts = false }.presentation)
                == ["sound", "badge"])
        #expect(
            try Self.words(Self.decide(state) { $0.sounds = false }.presentation)
                == ["banner", "list", "badge"])
        #expect(
            try Self.words(Self.decide(state) { $0.badges = false }.presentation)
                == ["banner", "list", "sound"])
    }

    @Test("on a device without a user no message counts as the user's own")
    func nobody() throws {
        let notice = Notice(
            id: try EntryID("m"), channel: try ChannelName("general"), seq: 1, sender: nil,
            published: Self.now, source: .live)
        let state = NoticeState(
            me: nil, settings: NotificationSettings(authorization: .authorized), now: Self.now)
        #expect(NoticeDecision.decide(notice, in: state).reason == .new)
    }
}
