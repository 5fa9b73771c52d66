import Foundation
package import RepriseCore

/// The transfers that the system runs for apps: which run, which wait, and what has become of them.
///
/// ``run(_:)`` follows each of its other changes.
package struct TransferQueue: Hashable, Sendable, Codable {
    /// What follows from a change, in order.
    enum Effect {
        case act(PhoneMachine.Action)
        case log(PhoneEvent.What, app: String, String)
        /// A transfer of the app has ended, or is forgotten.
        case ended(app: String)
    }

    /// Of each app, oldest first; those that are done until the app forgets them.
    private var records: [String: [TransferRecord]] = [:]
    /// Numbers transfers and their attempts.
    private var last = 0

    /// Of an app, oldest first.
    package subscript(app: String) -> [TransferRecord] { records[app] ?? [] }

    package subscript(number: Int) -> (app: String, record: TransferRecord)? {
        for (app, records) in records {
            if let found = records.first(where: { $0.number == number }) { return (app, found) }
        }
        return nil
    }

    /// Those whose files are kept.
    var numbers: Set<Int> { Set(records.values.joined().map(\.number)) }

    private var apps: [String] { records.keys.sorted() }

    private mutating func change(
        _ app: String, _ number: Int, _ body: (inout TransferRecord) -> Void
    ) {
        let index = records[app]?.firstIndex { $0.number == number }
        if let index { body(&records[app, default: []][index]) }
    }

    private mutating func nextNumber() -> Int {
        last += 1
        return last
    }

    // MARK: Calls of apps

    /// `isSeen`: the app is in the foreground.
    mutating func start(
        _ app: String, _ request: TransferRequest, isSeen: Bool, at now: PhoneMoment
    ) throws(PhoneFailure) -> [Effect] {
        if let fault = Self.fault(request) { throw PhoneFailure(.refused, fault) }
        guard !self[app].contains(where: { $0.request.id == request.id }) else { return [] }
        guard self[app].count < PhoneLimits.transfers else {
            throw PhoneFailure(
                .full, "\(PhoneLimits.transfers) transfers of the app are known.",
                remedy: "Forget those that are done.")
        }
        records[app, default: []].append(
            TransferRecord(
                number: nextNumber(), request: request,
                transfer: Transfer(id: request.id, state: .running), isDiscretionary: !isSeen,
                until: now.after(milliseconds: PhoneLimits.transferMilliseconds)))
        return [.log(.transferStarted, app: app, request.id)]
    }

    /// Why the system would not take it.
    private static func fault(_ request: TransferRequest) -> String? {
        guard (1...128).contains(request.id.utf8.count) else {
            return "A transfer's id has 1 to 128 bytes."
        }
        let scheme = URL(string: request.url).flatMap(\.scheme)?.lowercased()
        guard scheme == "http" || scheme == "https", URL(string: request.url)?.host != nil else {
            return "A transfer in the background is for http:// and https:// alone."
        }
        let size =
            request.headers.reduce(request.url.utf8.count) {
                $0 + $1.key.utf8.count + $1.value.utf8.count
            }
        guard size <= PhoneLimits.contentBytes else {
            return "The address and the headers have more than \(PhoneLimits.contentBytes) bytes."
        }
        if case .upload(let file) = request.direction, !file.isFileURL {
            return "An upload in the background is of a file."
        }
        return nil
    }

    /// It ends at once, and the app is told later.
    mutating func cancel(_ app: String, _ id: String, at now: PhoneMoment) -> [Effect] {
        guard let record = self[app].first(where: { $0.request.id == id }), !record.hasEnded,
            record.cancelled == nil
        else { return [] }
        change(app, record.number) { record in
            record.cancelled = now.after(milliseconds: PhoneLimits.cancellationMilliseconds)
            (record.run, record.retry) = (nil, nil)
        }
        return record.run.map { [.act(.stopTransfer(record.number, run: $0))] } ?? []
    }

    mutating func forget(_ app: String, _ id: String) -> [Effect] {
        guard let record = self[app].first(where: { $0.request.id == id }) else { return [] }
        records[app]?.removeAll { $0.number == record.number }
        return (record.hasEnded ? [] : [.log(.transferEnded, app: app, "\(id) forgotten")])
            + [.act(.removeTransfer(record.number)), .ended(app: app)]
    }

    // MARK: Attempts

    /// An attempt has received a response's head: a later attempt can request the rest.
    mutating func began(_ number: Int, run: Int, part: TransferRecord.Part?) {
        guard let (app, record) = self[number], record.run == run else { return }
        change(app, number) { record in
            record.part = part
            record.transfer.total = part?.total
        }
    }

    /// An attempt is over; one that was stopped meanwhile is not heard.
    mutating func finished(
        _ number: Int, run: Int, _ outcome: TransferRecord.Outcome, bytes: Int64, total: Int64?,
        rules: PhoneRules, at now: PhoneMoment
    ) -> [Effect] {
        guard let (app, record) = self[number], record.run == run else { return [] }
        var over = record
        over.run = nil
        over.transfer.bytes = bytes
        over.transfer.total = total
        change(app, number) { $0 = over }
        return switch outcome {
        case .finished(.finished(let head, file: .some), _)
        where rules.finishedDownload == .missing:
            end(app, over, .finished(head, file: nil))
        case .finished(.finished(_, file: .some), _) where rules.finishedDownload == .unmovable:
            end(app, over, .failed("The file could not be kept."))
        case .finished(let state, _): end(app, over, state)
        case .failed(let why): end(app, over, .failed(why))
        case .lost(let why) where rules.lostTransfer == .failed: end(app, over, .failed(why))
        case .lost(let why): retry(app, over, why, rules, at: now)
        case .timedOut: retry(app, over, "it took too long", rules, at: now)
        }
    }

    private mutating func retry(
        _ app: String, _ record: TransferRecord, _ why: String, _ rules: PhoneRules,
        at now: PhoneMoment
    ) -> [Effect] {
        let first = Int64(rules.transferRetrySeconds) * 1_000
        let doubled = first << min(record.failures, 16)
        change(app, record.number) { record in
            record.failures += 1
            record.retry = now.after(
                milliseconds: min(doubled, PhoneLimits.transferRetryLimitMilliseconds))
        }
        return [.log(.transferWaits, app: app, "\(record.request.id): \(why)")]
    }

    private mutating func end(
        _ app: String, _ record: TransferRecord, _ state: Transfer.State
    ) -> [Effect] {
        let number = record.number
        var effects: [Effect] = []
        if let run = record.run { effects.append(.act(.stopTransfer(number, run: run))) }
        change(app, number) { record in
            record.transfer.state = state
            (record.run, record.retry, record.isTold) = (nil, nil, false)
        }
        effects.append(.log(.transferEnded, app: app, "\(record.request.id) \(state.word)"))
        switch state {
        case .finished(_, file: .some): break
        // Its file is not needed any more.
        case .running, .finished, .failed, .cancelled:
            effects.append(.act(.removeTransfer(number)))
        }
        return effects + [.ended(app: app)]
    }

    // MARK: Which run

    /// Starts and stops transfers by the current conditions.
    mutating func run(_ conditions: RunConditions) -> [Effect] {
        var effects: [Effect] = []
        var running = 0
        for app in apps {
            for record in self[app] where !record.hasEnded && record.cancelled == nil {
                let (number, id) = (record.number, record.request.id)
                let obstacle = Self.obstacle(to: record, conditions)
                if let run = record.run, let obstacle {
                    change(app, number) { $0.run = nil }
                    effects.append(.log(.transferWaits, app: app, "\(id): \(obstacle)"))
                    effects.append(.act(.stopTransfer(number, run: run)))
                } else if record.run != nil {
                    running += 1
                } else if obstacle == nil, record.retry == nil,
                    running < PhoneLimits.transfersAtOnce
                {
                    running += 1
                    let run = nextNumber()
                    change(app, number) { $0.run = run }
                    effects.append(.log(.transferRuns, app: app, id))
                    effects.append(.act(.startTransfer(number, run: run)))
                }
            }
        }
        return effects
    }

    private static func obstacle(to record: TransferRecord, _ now: RunConditions) -> String? {
        if now.network == .off { return "no network" }
        if record.request.needsUnmetered, now.device.isMetered { return "the network is metered" }
        let waits = now.rules.discretionaryTransfers == .whenPluggedInAndUnmetered
        if record.isDiscretionary, now.device.isLowPower { return "Low Power Mode" }
        if record.isDiscretionary, waits, !now.device.isPluggedIn || now.device.isMetered {
            return "the system waits for power and a network that is not metered"
        }
        return nil
    }

    /// The network is there again: waiting transfers retry at once.
    mutating func retryAll() {
        for app in apps {
            for record in self[app] where record.retry != nil {
                change(app, record.number) { $0.retry = nil }
            }
        }
    }

    /// The next event: its time and the transfer's number.
    var due: (at: Int64, number: Int)? {
        apps.lazy.flatMap { self[$0] }.filter { !$0.hasEnded }
            .map { (min($0.until, $0.retry ?? .max, $0.cancelled ?? .max), $0.number) }
            .min { $0.0 < $1.0 }
    }

    mutating func due(_ number: Int, at now: PhoneMoment) -> [Effect] {
        guard let (app, record) = self[number], !record.hasEnded else { return [] }
        if let cancelled = record.cancelled, cancelled <= now.microseconds {
            return end(app, record, .cancelled)
        }
        guard record.until <= now.microseconds else {
            change(app, number) { $0.retry = nil }
            return []
        }
        return end(app, record, .failed("it was not done within seven days"))
    }

    // MARK: What apps know

    /// The ended transfers that the app does not know; from now on it does.
    mutating func untold(_ app: String) -> [Transfer] {
        let news = self[app].filter { !$0.isTold }
        for record in news { change(app, record.number) { $0.isTold = true } }
        return news.map(\.transfer)
    }

    /// Whether all transfers of an app are done, and it does not know it.
    func isDoneUntold(_ app: String) -> Bool {
        self[app].allSatisfy(\.hasEnded) && self[app].contains { !$0.isTold }
    }

    // MARK: The app, the phone

    /// The user has thrown the app out: Apple's documentation has the system cancel its transfers.
    mutating func forceQuit(_ app: String) -> [Effect] {
        self[app].filter { !$0.hasEnded }.flatMap { record -> [Effect] in
            let effects = end(app, record, .cancelled).dropLast()
            change(app, record.number) { $0.isTold = true }
            return Array(effects)
        }
    }

    /// The app is taken away.
    mutating func remove(_ app: String) -> [Effect] {
        defer { records[app] = nil }
        return self[app].flatMap { record -> [Effect] in
            (record.run.map { [.act(.stopTransfer(record.number, run: $0))] } ?? [])
                + [.act(.removeTransfer(record.number))]
        }
    }

    /// The phone was started: no attempt runs, and the rules decide whether transfers are kept.
    mutating func restarted(_ rules: PhoneRules) -> [Effect] {
        var effects: [Effect] = []
        for app in apps {
            for record in self[app] where !record.hasEnded {
                if let run = record.run {
                    effects.append(.act(.stopTransfer(record.number, run: run)))
                }
                change(app, record.number) { $0.run = nil }
                if rules.transfersAcrossRestart == .cleared {
                    records[app]?.removeAll { $0.number == record.number }
                    effects.append(.act(.removeTransfer(record.number)))
                    effects.append(
                        .log(.transferEnded, app: app, "\(record.request.id) forgotten"))
                }
            }
            // One that ended just before the power failed is still to be reported.
            effects.append(.ended(app: app))
        }
        return effects
    }
}

extension Transfer.State {
    /// Its word in the log.
    package var word: String {
        switch self {
        case .running: "running"
        case .finished(let head, _): "finished \(head.status)"
        case .failed(let why): "failed: \(why)"
        case .cancelled: "cancelled"
        }
    }
}
