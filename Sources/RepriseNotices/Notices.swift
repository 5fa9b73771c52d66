import Foundation
import GRDB
public import RepriseCore
public import RepriseJournal
import RepriseWire

/// The door for notices: what a person is shown of a message, once, whatever brought it, and a
/// badge that is right.
///
/// The facade makes one; see `Reprise`.
///
/// ```swift
/// try await notices.received(response)                        // a tap, a reply, "mark as read": durable when it returns
/// try await notices.run(notifications: SystemNotifications()) // banners, their removal, the badge
/// for await tap in notices.taps { router.show(tap.route); try await tap.presented() }
/// ```
///
/// A push only tells that there is something: it never takes the place of the message, which the
/// log brings.
public final class Notices: Sendable {
    let journal: Journal
    let configuration: Configuration
    let settingsDriver: SettingsDriver
    let driver: NoticesDriver
    let routing: NoticeRouting

    /// The kinds of entries that this door records, for `Journal.open`.
    ///
    /// - Parameter configuration: what can be set.
    /// - Returns: a kind for what an extension has shown, for taps, for actions and for what the
    ///   server is to be told.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        let bound = configuration.timeToLive.map { EntryKind.Bound(after: $0, then: .expire) }
        return [
            EntryKind(NoticeKinds.shown, attemptLimit: .max, parallel: 8),
            EntryKind(
                NoticeKinds.tap, requires: [.ui], bound: bound, attemptLimit: .max,
                parallel: NoticeLimits.tapsInHand),
            EntryKind(
                NoticeKinds.action, attemptLimit: .max,
                backoff: Backoff(base: .milliseconds(100), longest: .seconds(30)), parallel: 8),
            EntryKind(
                NoticeKinds.setting, requires: [.noticeServer], attemptLimit: .max, parallel: 4),
        ]
    }

    /// Makes the door over a journal that was opened with ``kinds(_:)`` and ``schema``.
    ///
    /// - Parameters:
    ///   - journal: stays the caller's.
    ///   - messages: what there is to show.
    ///   - configuration: what can be set, checked before.
    package init(
        journal: Journal, messages: any NoticeMessages,
        configuration: Configuration = Configuration()
    ) {
        self.journal = journal
        self.configuration = configuration
        settingsDriver = SettingsDriver(journal: journal, configuration: configuration)
        var configuration = configuration
        if !configuration.hasOwnPreferences {
            configuration.preferences = { [board = settingsDriver.board] in board.value.preferences
            }
        }
        driver = NoticesDriver(
            journal: journal, messages: messages, configuration: configuration)
        routing = NoticeRouting(
            journal: journal, messages: messages, configuration: configuration)
        settingsDriver.hear { [driver] in driver.inbox.put { $0.recovers = true } }
    }

    /// Shows, takes away and counts, until the task is cancelled or the journal is closed.
    ///
    /// At its start the system is asked what stands: what a process that died had asked for and
    /// does not stand is shown again, if the person has not read it meanwhile.
    ///
    /// - Parameter notifications: the system's notification centre.
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `.badConfiguration` if
    ///   it runs already. Cancellation is no error.
    public func run(notifications: any UserNotifications) async throws {
        let desk = driver.desk
        let (inbox, clock) = (driver.inbox, configuration.timekeeper)
        await journal.handle(NoticeKinds.shown) { db, entry in
            let record: ShownRecord
            do {
                record = try ShownRecord(payload: entry.payload)
                let channel = try desk.shown(record, at: clock.wall(), db)
                db.afterNextTransaction { _ in inbox.put { $0.channels.insert(channel) } }
            } catch let error as DatabaseError {
                throw error
            } catch {
                throw HandOverFailure.permanent("It is not what an extension says: \(error)")
            }
        }
        try await settingsDriver.load()
        await routing.started()
        try await driver.run(notifications)
    }

    /// The tables of this door, for `Journal.open` and for reading the ledger of a journal that
    /// somebody else owns.
    public static let schema = JournalSchema(
        name: "notices",
        migrations: [
            { db in
                try db.execute(sql: NoticeTables.first)
                try db.execute(sql: SettingTables.first)
            }
        ],
        prune: { db, now in try NoticeTables.prune(db, at: now) })
}

/// The names of this door's kinds of entries.
package enum NoticeKinds {
    /// A service extension has shown a message: a ``ShownRecord``, by the spool.
    package static let shown = "notices-shown"
    /// A tap on a banner: handed to the app's screen.
    package static let tap = "notices-tap"
    /// An action of a banner that is done without the app's screen, as a reply.
    package static let action = "notices-action"
    /// What the server is to be told: a mute, quiet hours, where the device is reached.
    package static let setting = "notices-setting"
}
