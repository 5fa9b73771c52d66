import RepriseChannels
public import RepriseCore
import RepriseForms
import RepriseNotices
import RepriseReminders
import Synchronization

/// Gives each notification to the door that it belongs to, so that an app has one handler for all.
///
/// A payload with Reprise's push member is a message's, and goes to ``notices``; one with a
/// reminder's route to ``reminders``; any other to ``forms``, if it is configured, else to
/// ``reminders``, which hands over what cannot be read as such.
extension Reprise: NotificationHandler {
    private enum Door { case notices, reminders, forms, none }

    private func door(of info: [UInt8]) -> Door {
        if notices != nil, Notices.isOurs(info) { return .notices }
        if reminders?.isOurs(info) == true { return .reminders }
        if forms != nil { return .forms }
        return reminders == nil ? .none : .reminders
    }

    /// How to show what has arrived while the app is in the foreground.
    public func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        switch door(of: notification.request.content.info) {
        case .notices: await notices?.willPresent(notification) ?? []
        case .reminders, .forms, .none: [.banner, .list, .sound]
        }
    }

    /// A person did something with a notification; returns when it is recorded, and what needs no
    /// screen is done.
    ///
    /// A reply, "mark as read": an app that was dead or suspended is given time for it, at most
    /// ``NoticeLimits/actionPatience``, because the system freezes it again when this returns. What
    /// is not done by then is done when the app runs next.
    ///
    /// What the journal cannot take, because the disk is full or its owner is another, is left in
    /// the spool: just as durable, and merged by this process as soon as the disk takes it, else by
    /// the next owner.
    ///
    /// - Throws: what the journal throws, if the spool cannot be written either, or the journal is
    ///   closed: then the tap is recorded nowhere.
    public func received(_ response: NotificationResponse) async throws {
        switch door(of: response.notification.request.content.info) {
        case .notices: try await receivedForNotices(response)
        case .reminders: try await reminders?.received(response)
        case .forms: try await forms?.received(response)
        case .none: break
        }
    }

    private func receivedForNotices(_ response: NotificationResponse) async throws {
        guard let notices, try await notices.record(response) else { return }
        guard notices.isAction(response) else { return }
        await whileAwake { await notices.done(response, within: NoticeLimits.actionPatience) }
    }

    /// Lets the connection be while something is done that the system has woken the app for, and
    /// closes it again.
    private func whileAwake(_ body: () async -> Void) async {
        guard await channels.isAsleep else {
            await channels.reconnect()
            return await body()
        }
        await channels.foreground()
        await body()
        // Not if the person has opened the app meanwhile.
        let rest = life.withLock { _ in
            notices?.isForeground == false
                ? channels.enter(.background(granted: .zero)) : nil
        }
        await rest?()
    }

    /// A push has woken the app: what it says is done, and what it tells of is fetched.
    ///
    /// An app that is not in the foreground is frozen when this returns, so it returns when the
    /// journal has what the push counted, or after ``NoticeLimits/wakePatience``; one that was
    /// frozen is connected for that and closes the connection again.
    public func receivedPush(_ info: [UInt8]) async {
        switch door(of: info) {
        case .notices:
            await whileAwake {
                try? await notices?.receivedPush(info)
                guard notices?.isForeground == false else { return }
                await notices?.caughtUp(with: info, within: NoticeLimits.wakePatience)
            }
        case .reminders, .forms, .none: break
        }
    }
}
