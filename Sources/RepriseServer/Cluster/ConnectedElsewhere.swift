package import RepriseCore
import Synchronization

/// Which devices are connected to any gateway of a cluster: asks the others, and answers them.
///
/// All that have written into the journal lately must answer. An ask that one of them does not
/// answer in time tells nothing: then all its devices count as connected, as without the others.
///
/// ```swift
/// async let hearing: Void = elsewhere.hear()
/// let connected = await elsewhere.connected(of: devices)
/// ```
package final class ConnectedElsewhere: Sendable {
    package struct Settings: Sendable {
        /// How long answers are waited for.
        package var answerWithin: Duration = .milliseconds(250)
        /// How long nobody is asked after an ask that was not answered by all.
        package var pause: Duration = .seconds(5)
        /// A gateway that has written nothing for so long, by the journal's time, is gone; one that
        /// is there compares results every ``ClusterLimits/checkEvery``.
        package var writtenWithin: Duration = .seconds(30)

        package init() {}
    }

    private struct Ask {
        /// The sessions of those that have not answered.
        var awaited: Set<Int64>
        /// Places in the list of devices.
        var connected: Set<Int64> = []
        let answered: AsyncStream<Void>.Continuation
    }

    private struct State {
        /// Of this gateway: nil before its first entry.
        var session: Int64?
        /// At most one for each push service.
        var asks: [Int64: Ask] = [:]
        var lastNumber: Int64 = 0
        var pausedUntil: Duration = .zero
    }

    private let journal: any ClusterJournal
    private let view: ClusterView
    private let devices: ConnectedDevices
    private let clock: any Timekeeper
    private let settings: Settings
    private let state = Mutex(State())

    /// - Parameters:
    ///   - cluster: its journal, and who has written there.
    ///   - devices: those that are connected here.
    ///   - settings: the bounds.
    ///   - clock: the time.
    package init(
        _ cluster: ClusterMember, _ devices: ConnectedDevices, _ settings: Settings = Settings(),
        clock: any Timekeeper
    ) {
        (journal, view, self.devices) = (cluster.journal, cluster.view, devices)
        (self.settings, self.clock) = (settings, clock)
    }

    /// An entry is applied, perhaps one of this gateway; does not block.
    package func applied(_ entry: AppliedEntry, isOwn: Bool) {
        guard isOwn, entry.disposition == .accepted else { return }
        state.withLock { $0.session = entry.session }
    }

    // MARK: Asking

    /// Those of the devices that are connected to any gateway; all of them where that is not known.
    package func connected(of asked: [ConnectingDevice]) async -> Set<ConnectingDevice> {
        var found = devices.connected(of: asked)
        var rest = asked.filter { !found.contains($0) }[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(ConnectedNews.devices))
            guard let elsewhere = await ask(part) else { return Set(asked) }
            found.formUnion(elsewhere)
            rest = rest.dropFirst(part.count)
        }
        return found
    }

    /// - Returns: nil where not all have answered.
    private func ask(_ part: [ConnectingDevice]) async -> [ConnectingDevice]? {
        let now = clock.uptime()
        guard let session = state.withLock({ $0.pausedUntil <= now ? $0.session : nil }) else {
            return nil
        }
        let others = view.writers(within: settings.writtenWithin).subtracting([session])
        guard !others.isEmpty else { return [] }
        let (answers, answered) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.lastNumber += 1
            state.asks[state.lastNumber] = Ask(awaited: others, answered: answered)
            return state.lastNumber
        }
        journal.say(
            ConnectedNews(from: session, number: number, .asked(part)).bytes, on: .connected)
        let timeout = Task { [clock, settings] in
            try? await clock.sleep(for: settings.answerWithin)
            answered.finish()
        }
        for await _ in answers {}
        timeout.cancel()
        return ended(number).map { places in
            part.indices.filter { places.contains(Int64($0)) }.map { part[$0] }
        }
    }

    private func ended(_ number: Int64) -> Set<Int64>? {
        let next = clock.uptime() + settings.pause
        return state.withLock { state in
            guard let ask = state.asks.removeValue(forKey: number) else { return nil }
            if ask.awaited.isEmpty { return ask.connected }
            state.pausedUntil = next
            return nil
        }
    }

    // MARK: Answering

    /// Hears what gateways ask and answer, until cancelled.
    package func hear() async {
        for await bytes in journal.said(on: .connected) {
            if let news = ConnectedNews(bytes) { heard(news) }
        }
    }

    private func heard(_ news: ConnectedNews) {
        switch news.content {
        case .asked(let asked):
            guard let session = state.withLock(\.session), session != news.sender else { return }
            let here = devices.connected(of: asked)
            let places = asked.indices.filter { here.contains(asked[$0]) }.map { Int64($0) }
            let answer = ConnectedNews(
                from: session, number: news.number, .answered(to: news.sender, places))
            journal.say(answer.bytes, on: .connected)
        case .answered(let asker, let places):
            state.withLock { state in
                guard asker == state.session,
                    state.asks[news.number]?.awaited.remove(news.sender) != nil
                else { return }
                state.asks[news.number]?.connected.formUnion(places)
                if state.asks[news.number]?.awaited.isEmpty == true {
                    state.asks[news.number]?.answered.finish()
                }
            }
        }
    }
}
