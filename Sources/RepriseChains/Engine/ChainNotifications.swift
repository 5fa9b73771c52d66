import GRDB
import RepriseCore
import RepriseJournal
import Synchronization

/// Shows chains as notifications: performs what `ChainNotifier` decides.
final class ChainNotifications: Sendable {
    private struct State {
        var notifier = ChainNotifier()
        var isRunning = false
        /// What was shown last, to show nothing twice.
        var last: [String: NotificationContent] = [:]
    }

    private let journal: Journal
    private let clock: any Timekeeper
    private let definitions: [String: any ChainDefinition]
    private let whenQuiet: @Sendable () -> Void
    private let timeout: CallTimeout
    private let signal = Signal()
    private let state = Mutex(State())

    init(
        _ journal: Journal, _ configuration: Chains.Configuration,
        whenQuiet: @escaping @Sendable () -> Void
    ) {
        (self.journal, clock) = (journal, configuration.timekeeper)
        self.whenQuiet = whenQuiet
        definitions = Dictionary(
            configuration.chains.filter(\.notifies).map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first })
        timeout = CallTimeout(clock: clock, most: ChainsLimits.notificationCalls)
    }

    func isOf(_ definition: String) -> Bool { definitions[definition] != nil }

    /// Whether every result was shown; also if nobody shows any.
    var isQuiet: Bool { state.withLock { !$0.isRunning || $0.notifier.isQuiet } }

    func changed(_ change: ChainChange) {
        state.withLock { $0.notifier.changed(change) }
        signal.raise()
    }

    func removed() {
        state.withLock { $0.notifier.removed() }
        signal.raise()
    }

    /// Runs until the task is cancelled.
    func run(_ system: any UserNotifications) async {
        guard !definitions.isEmpty else { return }
        // What changed before is looked up in the rows.
        state.withLock { $0 = State(isRunning: true) }
        while !Task.isCancelled {
            switch state.withLock({ $0.notifier.next(at: clock.uptime()) }) {
            case .none: await signal.wait()
            case .wait(let until): await signal.wait(until: until, by: clock)
            case .show(let change): await perform { try await self.show(change, system) }
            case .showResults: await perform { try await self.showResults(system) }
            case .removeUnknown: await perform { try await self.removeUnknown(system) }
            }
        }
        state.withLock { $0.isRunning = false }
        whenQuiet()
    }

    private func perform(_ action: () async throws -> ChainNotifier.Outcome) async {
        let outcome = (try? await action()) ?? .failed
        state.withLock { $0.notifier.ended(outcome, at: clock.uptime()) }
        whenQuiet()
    }

    private func show(_ change: ChainChange, _ system: any UserNotifications) async throws
        -> ChainNotifier.Outcome
    {
        let input = try await journal.read { try ChainResults.input(of: change.id.text, $0) }
        // One that has ended meanwhile shows its result.
        guard let input, let definition = definitions[change.definition] else { return .done }
        try await show(
            definition.notification(of: input, change.progress), of: change.id.text, isEnd: false,
            system)
        return .done
    }

    private func showResults(_ system: any UserNotifications) async throws
        -> ChainNotifier.Outcome
    {
        let results = try await journal.read { try ChainResults.page($0) }
        for result in results {
            let definition = definitions[result.definition]
            try await show(
                definition?.notification(of: result.input, result.progress), of: result.id,
                isEnd: true, system)
            try await journal.write { try result.shown($0) }
            state.withLock { $0.last[result.id] = nil }
        }
        return results.count == ChainResults.page ? .more : .done
    }

    /// Without a notification, the chain has none at this moment.
    private func show(
        _ notification: ChainNotification?, of chain: String, isEnd: Bool,
        _ system: any UserNotifications
    ) async throws {
        let request = notification?.request(of: chain, isEnd: isEnd)
        let isNew = state.withLock { state in
            if state.last.count > ChainsLimits.unreadChanges { state.last = [:] }
            defer { state.last[chain] = request?.content }
            return isEnd || state.last[chain] != request?.content
        }
        guard isNew else { return }
        do {
            try await timeout.wait(ChainsLimits.notificationTimeout, for: "The notification centre")
            {
                guard let request else {
                    return try await system.removeDelivered([ChainNotification.prefix + chain])
                }
                try await system.add(request)
            }
        } catch let error as RepriseError where error.code == .refused {
            // The person does not want any: to ask again changes nothing.
        } catch {
            state.withLock { $0.last[chain] = nil }
            throw error
        }
    }

    private func removeUnknown(_ system: any UserNotifications) async throws
        -> ChainNotifier.Outcome
    {
        let limit = ChainsLimits.notificationTimeout
        let delivered = try await timeout.wait(limit, for: "The notification centre") {
            try await system.delivered()
        }
        let ids = delivered.map(\.request.id).filter { $0.hasPrefix(ChainNotification.prefix) }
        let gone = try await journal.read { db in
            try ids.filter {
                try ChainReading.seq(of: String($0.dropFirst(ChainNotification.prefix.count)), db)
                    == nil
            }
        }
        guard !gone.isEmpty else { return .done }
        try await timeout.wait(limit, for: "The notification centre") {
            try await system.removeDelivered(gone)
        }
        return .done
    }
}
