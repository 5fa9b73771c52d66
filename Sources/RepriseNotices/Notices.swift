import Foundation
import GRDB
package import RepriseCore
public import RepriseJournal
import RepriseWire

/// The notices feature: one notification of each message, whatever delivered it, and a correct
/// badge.
///
/// `RepriseClient` makes one for each account.
///
/// ```swift
/// try await client.received(response)   // a tap or reply: durable when it returns
/// for await tap in client.noticeTaps { router.show(tap.route); try await tap.presented() }
/// try await client.notices.mute(channel: general, until: tomorrow)
/// ```
///
/// A push only announces a message: the message itself comes from the log.
public final class Notices: Sendable {
    let journal: Journal
    let configuration: Configuration
    let settingsDriver: SettingsDriver
    let driver: NoticesDriver
    let routing: NoticeRouting

    /// The kinds of entries that this feature records, for `Journal.open`.
    ///
    /// - Parameter configuration: the options.
    /// - Returns: a kind for the extension's records, for taps, for actions and for settings to
    ///   send to the server.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        let bound = configuration.timeToLive.map { EntryKind.Bound(after: $0, then: .expire) }
        return [
            EntryKind(NoticeKinds.shown, attemptLimit: .max, parallel: 8),
            EntryKind(
                NoticeKinds.tap, requires: [.ui], bound: bound, attemptLimit: .max,
                parallel: NoticeLimits.tapsInFlight),
            EntryKind(
                NoticeKinds.action, attemptLimit: .max,
                backoff: Backoff(base: .milliseconds(100), longest: .seconds(30)), parallel: 8),
            EntryKind(
                NoticeKinds.setting, requires: [.noticeServer], attemptLimit: .max, parallel: 4),
        ]
    }

    /// Makes the feature over a journal that was opened with ``kinds(_:)`` and ``schema``.
    ///
    /// - Parameters:
    ///   - journal: stays the caller's.
    ///   - messages: the source of messages.
    ///   - configuration: the options, already checked.
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

    /// Shows, removes and counts, until the task is cancelled or the journal is closed.
    ///
    /// At its start it reads the delivered notifications: one that a dead process had requested and
    /// that is missing is shown again, if it is still unread.
    ///
    /// - Parameter notifications: the system's notification centre.
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `.badConfiguration` if
    ///   it runs already. Cancellation is no error.
    package func run(notifications: any UserNotifications) async throws {
        let noticeStore = driver.noticeStore
        let (inbox, clock) = (driver.inbox, configuration.timekeeper)
        await journal.handle(NoticeKinds.shown) { db, entry in
            let record: ShownRecord
            do {
                record = try ShownRecord(payload: entry.payload)
                let channel = try noticeStore.shown(record, at: clock.wall(), db)
                db.afterNextTransaction { _ in inbox.put { $0.channels.insert(channel) } }
            } catch let error as DatabaseError {
                throw error
            } catch {
                throw DispatchFailure.permanent("It is not what an extension says: \(error)")
            }
        }
        try await settingsDriver.load()
        await routing.started()
        try await driver.run(notifications)
    }

    /// The tables of this feature, for `Journal.open` and for reading the ledger of a foreign
    /// journal.
    public static let schema = {
        var schema = JournalSchema(
            name: "notices",
            migrations: [
                { db in
                    try db.execute(sql: NoticeTables.first)
                    try db.execute(sql: SettingTables.first)
                }
            ],
            prune: { db, now in try NoticeTables.prune(db, at: now) },
            calendarMoved: { db, step in try NoticeTables.move(db, by: step) })
        schema.retentionMoved = { db, step in try NoticeTables.move(db, by: step) }
        return schema
    }()
}

/// The names of this feature's kinds of entries.
package enum NoticeKinds {
    /// A service extension has shown a message: a ``ShownRecord``, by the spool.
    package static let shown = "notices-shown"
    /// A tap on a banner: dispatched to the app's screen.
    package static let tap = "notices-tap"
    /// An action of a banner that is done without the app's screen, as a reply.
    package static let action = "notices-action"
    /// A setting to send to the server: a mute, quiet hours, the push registration.
    package static let setting = "notices-setting"
}
