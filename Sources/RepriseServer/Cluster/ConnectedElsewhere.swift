import Metrics
package import RepriseCore
import Synchronization

/// Which devices are connected to any gateway of a cluster: asks the others, and answers them.
///
/// All that have written into the journal lately must answer, unless they have said that they end.
/// An ask that one of them does not answer in time tells nothing: then all its devices count as
/// connected, as without the others.
///
/// ```swift
/// async let hearing: Void = elsewhere.hear()
/// let connected = await elsewhere.connected(of: devices)
/// elsewhere.end()
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
        /// Whether this gateway has said that it ends.
        var hasEnded = false
        /// The sessions of others that have said so; forgotten, they are waited for as if killed.
        var ended: Set<Int64> = []
        /// At most one for each push service.
        var asks: [Int64: Ask] = [:]
        var lastNumber: Int64 = 0
        var pausedUntil: Duration = .zero

        mutating func answered(_ number: Int64, by session: Int64, _ places: [Int64]) {
            guard asks[number]?.awaited.remove(session) != nil else { return }
            asks[number]?.connected.formUnion(places)
            if asks[number]?.awaited.isEmpty == true { asks[number]?.answered.finish() }
        }
    }

    private let journal: any ClusterJournal
    private let view: ClusterView
    private let devices: ConnectedDevices
    private let clock: any Timekeeper
    private let settings: Settings
    private let metrics: ServerMetrics
    private let state = Mutex(State())

    /// - Parameters:
    ///   - cluster: its journal, and who has written there.
    ///   - devices: those that are connected here.
    ///   - settings: the bounds.
    ///   - metrics: the counters.
    ///   - clock: the time.
    package init(
        _ cluster: ClusterMember, _ devices: ConnectedDevices, _ settings: Settings = Settings(),
        metrics: ServerMetrics, clock: any Timekeeper
    ) {
        (journal, view, self.devices) = (cluster.journal, cluster.view, devices)
        (self.settings, self.metrics, self.clock) = (settings, metrics, clock)
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
        let writers = view.writers(within: settings.writtenWithin).subtracting([session])
        let (answers, answered) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Under one lock, so that one that ends is either not waited for or taken out of the ask.
        let asked = state.withLock { state -> Int64? in
            let others = writers.subtracting(state.ended)
            guard !others.isEmpty else { return nil }
            state.lastNumber += 1
            state.asks[state.lastNumber] = Ask(awaited: others, answered: answered)
            return state.lastNumber
        }
        guard let number = asked else { return [] }
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
            guard let news = ConnectedNews(bytes) else {
                metrics.connectedIgnored.increment()
                continue
            }
            heard(news)
        }
    }

    /// The last connection has ended: the others need not wait for answers of this gateway.
    ///
    /// Where that is lost, they wait until it has written nothing for ``Settings/writtenWithin``.
    package func end() {
        let session = state.withLock { state in
            state.hasEnded = true
            return state.session
        }
        guard let session else { return }
        journal.say(ConnectedNews(from: session, number: 0, .ended).bytes, on: .connected)
    }

    private func heard(_ news: ConnectedNews) {
        switch news.content {
        case .asked(let asked):
            let own = state.withLock { $0.hasEnded ? nil : $0.session }
            guard let session = own, session != news.sender else { return }
            let here = devices.connected(of: asked)
            let places = asked.indices.filter { here.contains(asked[$0]) }.map { Int64($0) }
            let answer = ConnectedNews(
                from: session, number: news.number, .answered(to: news.sender, places))
            journal.say(answer.bytes, on: .connected)
        case .answered(let asker, let places):
            state.withLock { state in
                guard asker == state.session else { return }
                state.answered(news.number, by: news.sender, places)
            }
        case .ended:
            state.withLock { state in
                if state.ended.count >= ClusterLimits.sessions { state.ended = [] }
                state.ended.insert(news.sender)
                for number in state.asks.keys { state.answered(number, by: news.sender, []) }
            }
        }
    }
}
