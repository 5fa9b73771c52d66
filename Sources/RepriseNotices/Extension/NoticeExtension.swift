import Dispatch
public import Foundation
public import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// Handles one push in a notification service extension: decides how the message is shown, and
/// records that.
///
/// ```swift
/// let notice = NoticeExtension(at: sharedFolder)
/// let content = await notice.content(for: request)     // in didReceive
/// notice.timeWillExpire()                               // in serviceExtensionTimeWillExpire
/// ```
///
/// It opens no journal: it reads the app's mirror, and leaves a record in the spool, which the app
/// merges when it runs. After any failure the push is still shown: without a decision it is shown
/// unchanged. One for a user who is not signed in shows nothing of its message.
public final class NoticeExtension: Sendable {
    /// Its steps, for tests that end the process there.
    package enum Step: String, Hashable, Sendable, CaseIterable {
        case began, read, decided, recorded
    }

    private enum State {
        case idle
        case working(best: NotificationContent, CheckedContinuation<NotificationContent, Never>?)
        case answered
    }

    private let folder: URL
    private let budget: Duration
    private let timekeeper: any Timekeeper
    private let reached: @Sendable (Step) -> Void
    private let state = Mutex(State.idle)

    /// Prepares for one push.
    ///
    /// - Parameters:
    ///   - folder: the folder that the app shares with its extension, as in its journal's
    ///     configuration. With `Accounts` it is the same: it names the current account's
    ///     part.
    ///   - budget: the time limit; then the best content so far is shown.
    ///   - timekeeper: the clocks.
    public convenience init(
        at folder: URL, budget: Duration = NoticeLimits.extensionBudget,
        timekeeper: any Timekeeper = SystemTimekeeper()
    ) {
        self.init(at: folder, budget: budget, timekeeper: timekeeper, reached: { _ in })
    }

    package init(
        at folder: URL, budget: Duration = NoticeLimits.extensionBudget,
        timekeeper: any Timekeeper, reached: @escaping @Sendable (Step) -> Void
    ) {
        self.folder = folder
        self.budget = budget
        self.timekeeper = timekeeper
        self.reached = reached
    }

    /// Decides how a push is shown, and records that; once for each.
    ///
    /// The decision is durable in the spool when this returns; unless the time was over before, or
    /// the spool is full or cannot be written: then it is shown all the same.
    ///
    /// - Parameter request: the system's request; its `info` is the payload.
    /// - Returns: the content to show; an existing text is never removed, only hidden in a push for
    ///   a user who is not signed in.
    public func content(for request: NotificationRequest) async -> NotificationContent {
        let original = request.content
        let isFirst = state.withLock { state in
            guard case .idle = state else { return false }
            state = .working(best: original, nil)
            return true
        }
        guard isFirst else { return original }
        let timer = Task { [timekeeper, budget] in
            do { try await timekeeper.sleep(for: budget) } catch { return }
            self.timeWillExpire()
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { waiter in
            let isOver = state.withLock { state in
                guard case .working(let best, _) = state else { return true }
                state = .working(best: best, waiter)
                return false
            }
            guard !isOver else { return waiter.resume(returning: original) }
            // Off the pool of tasks: a disk that does not answer must not keep the timer from
            // running.
            DispatchQueue.global().async { self.work(request) }
        }
    }

    /// The system's time is nearly over: shows the best content so far.
    public func timeWillExpire() { answer(nil) }

    private func work(_ request: NotificationRequest) {
        reached(.began)
        let part = SharedAccount(in: folder).current()
        guard case .folder(let place, user: let user) = part else {
            // Without a signed-in user it is not recorded.
            return answer(
                part == .nobody ? PushJudge.contentForNobody(request.content) : request.content)
        }
        let judge = judge(in: place, of: user.flatMap { try? UserID($0) })
        reached(.read)
        let judgement = judge.judge(request)
        state.withLock { state in
            guard case .working(_, let waiter) = state else { return }
            state = .working(best: judgement.content, waiter)
        }
        reached(.decided)
        if let record = judgement.record {
            // Recorded first. If that fails, it is shown nevertheless: the app reads the delivered
            // notifications.
            try? Spool(at: place, timekeeper: timekeeper).record(record.entry())
        }
        reached(.recorded)
        answer(judgement.content)
    }

    private func judge(in folder: URL, of user: UserID?) -> PushJudge {
        let records = Spool(at: folder, timekeeper: timekeeper)
            .waiting(of: NoticeKinds.shown, newest: NoticeLimits.recordsRead)
            .compactMap { try? ShownRecord(payload: $0) }
        do {
            let mirror = try Mirror<NoticeMirror>(in: folder, version: NoticeMirror.version).read()
            return PushJudge(
                mirror: mirror?.value, user: user, records: records, now: timekeeper.wall())
        } catch {
            let code = (error as? RepriseError)?.code ?? .malformed
            return PushJudge(
                mirror: nil, withoutMirror: code, user: user, records: records,
                now: timekeeper.wall())
        }
    }

    /// The first answer is the one; nil: the best by now.
    private func answer(_ content: NotificationContent?) {
        let waiter = state.withLock { state -> (() -> Void)? in
            guard case .working(let best, let waiter) = state else { return nil }
            state = .answered
            return { waiter?.resume(returning: content ?? best) }
        }
        waiter?()
    }
}
