import Foundation
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import Testing

@Suite("Availability")
struct AvailabilityTests {
    private func of(
        _ state: NoticeAvailability.AppState, _ permission: NotificationSettings.Authorization,
        pushes: Bool, connected: Bool, until: WallTime? = nil
    ) -> NoticeAvailability {
        .of(
            .init(
                state: state, settings: NotificationSettings(authorization: permission),
                isPushRegistered: pushes, isConnected: connected, backgroundUntil: until))
    }

    @Test("docs/notices/availability.md has the table of the code, row by row")
    func documented() throws {
        let page = Command.root.appending(path: "docs/notices/availability.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("|") }.map(String.init)
        #expect(
            rows == NoticeAvailability.table, "\(NoticeAvailability.table.joined(separator: "\n"))")
    }

    @Test("an app that runs no code gets nothing over a socket, whether suspended or ended")
    func suspended() {
        for state in [NoticeAvailability.AppState.suspended, .terminated, .forceQuit] {
            let without = of(state, .authorized, pushes: false, connected: true)
            #expect(!without.ways.contains(.socket) && without.decider == .nobody)
            #expect(without.presentation.isEmpty && without.removal == .opening)
            #expect(of(state, .authorized, pushes: true, connected: true).decider == .extension)
        }
    }

    @Test("nothing is promised without permission, and opening the app is always a way")
    func always() {
        for state in NoticeAvailability.AppState.allCases {
            for permission in NotificationSettings.Authorization.allCases {
                for (pushes, connected) in [
                    (true, true), (true, false), (false, true), (false, false),
                ] {
                    let now = of(state, permission, pushes: pushes, connected: connected)
                    #expect(now.ways.last == .opening && Set(now.ways).count == now.ways.count)
                    if permission == .denied || permission == .notDetermined {
                        #expect(now.presentation.isEmpty && !now.ways.contains(.push))
                    }
                    if permission == .provisional { #expect(!now.presentation.contains(.banner)) }
                }
            }
        }
    }

    @Test("in the background it holds as long as the system has said, and no longer")
    func background() {
        let end = WallTime(milliseconds: 5_000)
        #expect(
            of(.background, .authorized, pushes: false, connected: true, until: end).until == end)
        #expect(
            of(.suspended, .authorized, pushes: false, connected: true, until: end).until == nil)
    }
}
