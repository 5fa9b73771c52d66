import RepriseChains
import RepriseChannels
package import RepriseCore
import RepriseForms
import RepriseNotices
import RepriseReminders
import Synchronization

/// Routes each notification to its feature, so that an app has one handler for all.
///
/// A payload with Reprise's push member belongs to a message and goes to ``notices``; one with a
/// reminder's route to ``reminders``; any other to ``forms``, if configured, otherwise to
/// ``reminders``, which delivers unreadable ones as such. A tap on that of a chain is recorded only
/// if it has data.
extension AccountClient: NotificationHandler {
    private enum Feature { case notices, reminders, forms, none }

    private func feature(of info: [UInt8]) -> Feature {
        if notices != nil, Notices.isOurs(info) { return .notices }
        if reminders?.isOurs(info) == true { return .reminders }
        if forms != nil { return .forms }
        return reminders == nil ? .none : .reminders
    }

    /// How to show a notification that arrives while the app is in the foreground.
    package func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        if let options = Chains.presentation(of: notification) { return options }
        return switch feature(of: notification.request.content.info) {
        case .notices: await notices?.willPresent(notification) ?? []
        case .reminders, .forms, .none: [.banner, .list, .sound]
        }
    }

    /// A person responded to a notification; returns when the response is recorded, and work that
    /// needs no screen is done.
    ///
    /// A reply, "mark as read": an app that was dead or suspended gets time for it, at most
    /// ``NoticeLimits/actionTimeout``, because the system freezes it again when this returns.
    /// Unfinished work continues at the app's next run.
    ///
    /// If the journal cannot be written, because the disk is full or another process owns it, the
    /// response goes to the spool: just as durable, and merged by this process as soon as the disk
    /// accepts it, otherwise by the next owner.
    ///
    /// - Throws: the journal's error, if the spool cannot be written either, or the journal is
    ///   closed: then the tap is not recorded.
    package func received(_ response: NotificationResponse) async throws {
        guard try await record(response) else { return }
        await perform(response, within: NoticeLimits.actionTimeout)
    }

    /// Records a response, and waits for nothing else.
    ///
    /// - Returns: whether work may be left that needs no screen.
    /// - Throws: as ``received(_:)``.
    @discardableResult
    func record(_ response: NotificationResponse) async throws -> Bool {
        guard !Chains.isPlain(response.notification) else { return false }
        switch feature(of: response.notification.request.content.info) {
        case .notices: return try await notices?.record(response) ?? false
        case .reminders: return try await reminders?.record(response) ?? false
        case .forms: try await forms?.received(response)
        case .none: break
        }
        return false
    }

    /// Waits for what a recorded response asks for without a screen: a reply, "mark as read", a
    /// reminder's button.
    func perform(_ response: NotificationResponse, within limit: Duration) async {
        switch feature(of: response.notification.request.content.info) {
        case .notices:
            guard let notices, notices.isAction(response) else { return }
            let limit = min(limit, NoticeLimits.actionTimeout)
            await whileAwake { await notices.done(response, within: limit) }
        case .reminders:
            guard let reminders, reminders.isAction(response) else { return }
            await reminders.done(response)
        case .forms, .none: break
        }
    }

    /// Keeps the connection open during work that the system has woken the app for, and closes it
    /// again once nothing of that is left: a reply may be sent while a push is fetched.
    package func whileAwake(_ body: () async -> Void) async {
        life.withLock { $0.works += 1 }
        if await channels.isAsleep {
            life.withLock { $0.isWoken = true }
            await channels.connectInBackground()
        } else {
            await channels.reconnect()
        }
        await body()
        let rest: (@Sendable () async -> Void)? = life.withLock { life in
            life.works -= 1
            guard life.works == 0, life.isWoken else { return nil }
            life.isWoken = false
            // Not if the person has opened the app meanwhile.
            guard notices?.isForeground == false else { return nil }
            return channels.enter(.background(granted: .zero))
        }
        await rest?()
    }

    /// A push has woken the app: its instructions are done, and its messages are fetched.
    ///
    /// An app that is not in the foreground is frozen when this returns, so it returns when the
    /// journal has the messages that the push counted and the read position that it names, or after
    /// ``NoticeLimits/wakeTimeout``. A frozen app connects for that and closes the connection
    /// again.
    package func receivedPush(_ info: [UInt8]) async {
        await receivedPush(info, within: WakeTime.limit)
    }

    /// The same, within the time that is left.
    func receivedPush(_ info: [UInt8], within limit: Duration) async {
        switch feature(of: info) {
        case .notices: await whileAwake { await notices?.woken(by: info, within: limit) }
        case .reminders, .forms, .none: break
        }
    }
}
