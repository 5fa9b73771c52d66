import Foundation
import Logging
import RepriseCore
import RepriseJournal
import Synchronization

/// Sends settings to the server, and reads those set on other devices.
///
/// Reads the server's settings first; entries are dispatched only after its answer: so an outage
/// costs one wait with one backoff, not one for each setting.
final class SettingsDriver: Sendable {
    private struct News {
        /// The server is connected: a request is worthwhile.
        var isConnected = false
        /// A request failed, and the wait that the server asks for.
        var lost: (isLost: Bool, wait: Duration?) = (false, nil)
    }

    let settingStore: SettingStore
    let board: StateBroadcaster<NoticeSettings>
    private let configuration: Notices.Configuration
    private let server = Mutex<NoticeServer?>(nil)
    private let news = Mutex(News())
    private let signal = Signal()
    private let registration = Mutex((isFresh: false, wasRetold: false))
    private let failure = Mutex<RepriseError?>(nil)
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)
    /// The revision of the board.
    private let shown = Mutex<Int64>(-1)

    private var journal: Journal { settingStore.journal }

    init(journal: Journal, configuration: Notices.Configuration) {
        settingStore = SettingStore(journal: journal)
        board = StateBroadcaster(NoticeSettings())
        self.configuration = configuration
    }

    /// Why the server could not be asked last, if it could not.
    var lastFailure: RepriseError? { failure.withLock { $0 } }

    /// Reports changes to the deciding driver.
    func hear(_ listener: @escaping @Sendable () -> Void) {
        self.listener.withLock { $0 = listener }
    }

    /// Loads the settings from the journal.
    @discardableResult
    func load() async throws -> NoticeSettings {
        while true {
            let (settings, revision) = try await settingStore.settings()
            if show(asOf: revision, { $0 = settings }) { return settings }
        }
    }

    /// Loads one target's setting: a thousand changes in a row must not load all of them a thousand
    /// times.
    private func load(_ target: SettingTarget) async throws {
        while true {
            let (one, revision) = try await settingStore.settings(of: target)
            if show(asOf: revision, { $0.replace(target, from: one) }) { return }
        }
    }

    /// - Returns: whether it was the newest revision; else load again.
    private func show(asOf revision: Int64, _ change: (inout NoticeSettings) -> Void) -> Bool {
        let isOther: Bool? = shown.withLock { shown in
            guard shown <= revision else { return nil }
            shown = revision
            let before = board.value
            var settings = before
            change(&settings)
            board.announce(settings)
            return !settings.decides(as: before)
        }
        guard let isOther else { return false }
        if isOther { listener.withLock { $0 }?() }
        return true
    }

    func set(_ target: SettingTarget, _ value: SettingValue?) async throws {
        // The first registration of a run is always sent: the server may have lost it.
        let isFirst =
            target == .push
            && registration.withLock { state in
                defer { state.isFresh = value != nil }
                return value != nil && !state.isFresh
            }
        try await settingStore.set(target, value, again: isFirst)
        try await load(target)
    }

    /// The server is connected: sends pending settings at once.
    func connected() {
        news.withLock { $0.isConnected = true }
        signal.raise()
    }

    private func lost(_ wait: Duration?) {
        news.withLock { $0.lost = (true, wait) }
        signal.raise()
    }

    // MARK: Running

    /// Works until the task is cancelled.
    func run(_ server: NoticeServer) async {
        self.server.withLock { $0 = server }
        await journal.handle(NoticeKinds.setting) { [self] entry in try await tell(entry) }
        _ = try? await load()
        var failures = 0
        while !Task.isCancelled {
            news.withLock { $0 = News() }
            do {
                try await readBack(server)
                failures = 0
                failure.withLock { $0 = nil }
                await journal.setReady(.noticeServer)
                await untilNews()
                let lost = news.withLock { $0.lost }
                guard lost.isLost else { continue }
                await journal.setNotReady(.noticeServer)
                failures = 1
                await nap(failures, lost.wait)
            } catch {
                await journal.setNotReady(.noticeServer)
                guard !Task.isCancelled else { break }
                failures += 1
                await nap(failures, noted(error).wait)
            }
        }
        await journal.setNotReady(.noticeServer)
    }

    private func untilNews() async {
        while !Task.isCancelled, news.withLock({ !$0.isConnected && !$0.lost.isLost }) {
            await signal.wait()
        }
    }

    /// Waits with a backoff, or until the connection opens.
    private func nap(_ failures: Int, _ wait: Duration?) async {
        let backoff = Backoff(base: NoticeLimits.firstWait, longest: NoticeLimits.longestWait)
        let jitter = backoff.delay(failures: failures, jitter: Double.random(in: 0..<1))
        let clock = configuration.timekeeper
        let end = clock.uptime() + max(jitter, wait ?? .zero)
        while !Task.isCancelled, clock.uptime() < end, !news.withLock({ $0.isConnected }) {
            await signal.wait(until: end, by: clock)
        }
    }

    private func noted(_ error: any Error) -> Unreached {
        let unreached =
            error as? Unreached
            ?? Unreached(
                (error as? RepriseError)?.message ?? "Settings cannot be told.",
                code: (error as? RepriseError)?.code ?? .internal)
        failure.withLock {
            $0 = RepriseError(
                unreached.code, unreached.words,
                remedy: "They hold on this device, and are told when the server can be reached.")
        }
        return unreached
    }

    // MARK: Telling

    private func tell(_ entry: Entry) async throws {
        guard let server = server.withLock({ $0 }) else {
            throw DispatchFailure.notReady("There is no server.")
        }
        let change: SettingChange
        do {
            change = try ForeignJSON.decode(SettingChange.self, from: entry.payload)
        } catch {
            throw DispatchFailure.permanent("It cannot be read.")
        }
        guard let target = SettingTarget(change.target) else {
            throw DispatchFailure.permanent("It is of nothing that this version knows.")
        }
        switch try await settingStore.match(entry.id, target, change.value) {
        case .current: break
        // A retried dead letter is void if the same target was set again.
        case .replaced: return
        case .unreadable:
            configuration.logger.tell(
                .error, "A setting cannot be read, and is written anew.", ["target": target.text])
            try await settingStore.mend(entry.id, target, change.value)
        }
        let answer: NoticeServer.Answer
        do {
            let call = try SettingWire.call(
                target, change.value, device: try await server.device(),
                platform: configuration.platform)
            answer = try await server.ask(call.method, call.path, call.body)
        } catch let error as Unreached {
            let unreached = noted(error)
            lost(unreached.wait)
            throw DispatchFailure.notReady(unreached.words)
        }
        switch answer {
        case .done: try await settingStore.told(entry.id, target)
        case .refused(let status, let words):
            let reason = Self.reason(target, status, words)
            try await settingStore.refused(entry.id, target, reason)
            try await load(target)
            throw DispatchFailure.permanent(reason)
        }
        try await load(target)
    }

    private static func reason(_ target: SettingTarget, _ status: Int, _ words: String) -> String {
        "The server has refused \(target.words) (\(status)): \(words) It holds on this device. Set it again, or discard this entry."
    }

    // MARK: Reading back

    private func readBack(_ server: NoticeServer) async throws {
        let revision = try await settingStore.revision()
        let device = try await server.device()
        var found = ServerSettings()
        // A server without users refuses each setting in turn.
        guard case .done(let mutes) = try await server.ask("GET", "/v1/mutes") else { return }
        try found.takeMutes(mutes)
        guard case .done(let hours) = try await server.ask("GET", "/v1/quiet-hours") else { return }
        try found.takeQuietHours(hours, device: device)
        try await settingStore.readBack(found.values, asOf: revision)
        try await load()
        try await checkRegistration(server, device)
    }

    /// Registers once more in a run with a server that has lost the registration, as one restored
    /// from a backup.
    private func checkRegistration(_ server: NoticeServer, _ device: EntryID) async throws {
        guard let registration = try await settingStore.registration(),
            case .done(let body) = try await server.ask("GET", "/v1/devices"),
            try !ServerSettings.hasPushToken(body, device: device),
            self.registration.withLock({ $0.isFresh && !$0.wasRetold })
        else { return }
        self.registration.withLock { $0.wasRetold = true }
        try await settingStore.set(.push, registration, again: true)
        try await load(.push)
    }

    // MARK: Leaving

    /// The person signs out: removes the push registration, if the server can be reached now.
    ///
    /// - Returns: whether it was removed.
    func leave() async -> Bool {
        registration.withLock { $0 = (false, false) }
        let wasTold = (try? await settingStore.registration()) != nil
        try? await settingStore.forgetRegistration()
        try? await load(.push)
        guard wasTold, let server = server.withLock({ $0 }) else { return !wasTold }
        let clock = configuration.timekeeper
        return await withTaskGroup(of: Bool.self) { [configuration] group in
            group.addTask {
                guard let device = try? await server.device(),
                    let call = try? SettingWire.call(
                        .push, nil, device: device, platform: configuration.platform)
                else { return false }
                if case .done = try? await server.ask(call.method, call.path, call.body) {
                    return true
                }
                return false
            }
            group.addTask {
                try? await clock.sleep(for: NoticeLimits.leaving)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
    }
}

extension Readiness {
    /// The server has answered, and accepts settings.
    static let noticeServer = Readiness("noticeServer")
}
