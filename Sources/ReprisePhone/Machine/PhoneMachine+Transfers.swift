import Foundation
package import RepriseCore

/// Transfers that the system runs for apps.
extension PhoneMachine {
    // MARK: Calls of apps

    mutating func startTransfer(
        _ app: String, _ request: TransferRequest, at now: PhoneMoment
    ) throws(PhoneFailure) {
        guard let record = state.apps[app] else { return }
        if let fault = Self.fault(request) { throw PhoneFailure(.refused, fault) }
        guard !record.transfers.contains(where: { $0.request.id == request.id }) else { return }
        guard record.transfers.count < PhoneLimits.transfers else {
            throw PhoneFailure(
                .full, "\(PhoneLimits.transfers) transfers of the app are known.",
                remedy: "Forget those that are done.")
        }
        let isSeen = record.process.map { $0.phase == .foreground } ?? false
        let started = TransferRecord(
            number: nextNumber(), request: request,
            transfer: Transfer(id: request.id, state: .running), isDiscretionary: !isSeen,
            until: now.after(milliseconds: PhoneLimits.transferMilliseconds))
        _ = change(app) { $0.transfers.append(started) }
        log(.transferStarted, app, request.id, at: now)
        runTransfers(at: now)
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

    mutating func cancelTransfer(_ app: String, _ id: String, at now: PhoneMoment) {
        guard let record = transfer(app, id), !record.hasEnded else { return }
        endTransfer(app, record.number, .cancelled, at: now)
        runTransfers(at: now)
    }

    mutating func forgetTransfer(_ app: String, _ id: String, at now: PhoneMoment) {
        guard let record = transfer(app, id) else { return }
        _ = change(app) { $0.transfers.removeAll { $0.number == record.number } }
        if !record.hasEnded { log(.transferEnded, app, "\(id) forgotten", at: now) }
        act(.removeTransfer(record.number))
        transfersDone(app, at: now)
        runTransfers(at: now)
    }

    // MARK: Reports of the driver

    /// An attempt has received a response's head: a later attempt can request the rest.
    package mutating func transferBegan(
        _ number: Int, run: Int, part: TransferRecord.Part?
    ) {
        guard let (app, record) = transfer(number), record.run == run else { return }
        changeTransfer(app, number) { record in
            record.part = part
            record.transfer.total = part?.total
        }
    }

    /// An attempt is over; one that was stopped meanwhile is not heard.
    package mutating func transferEnded(
        _ number: Int, run: Int, _ outcome: TransferRecord.Outcome, bytes: Int64, total: Int64?,
        at now: PhoneMoment
    ) {
        guard let (app, record) = transfer(number), record.run == run else { return }
        changeTransfer(app, number) { record in
            record.run = nil
            record.transfer.bytes = bytes
            record.transfer.total = total
        }
        switch outcome {
        case .finished(let end, _): endTransfer(app, number, end, at: now)
        case .failed(let why): endTransfer(app, number, .failed(why), at: now)
        case .timedOut: retryTransfer(app, number, "it took too long", at: now)
        case .lost(let why) where state.rules.lostTransfer == .failed:
            endTransfer(app, number, .failed(why), at: now)
        case .lost(let why): retryTransfer(app, number, why, at: now)
        }
        runTransfers(at: now)
    }

    private mutating func retryTransfer(
        _ app: String, _ number: Int, _ why: String, at now: PhoneMoment
    ) {
        let first = Int64(state.rules.transferRetrySeconds) * 1_000
        changeTransfer(app, number) { record in
            let doubled = first << min(record.failures, 16)
            record.failures += 1
            record.retry = now.after(
                milliseconds: min(doubled, PhoneLimits.transferRetryLimitMilliseconds))
        }
        let id = transfer(number)?.1.request.id ?? ""
        log(.transferWaits, app, "\(id): \(why)", at: now)
    }

    // MARK: Which run

    /// Starts and stops transfers by the current conditions.
    mutating func runTransfers(at now: PhoneMoment) {
        var running = 0
        for app in appNames {
            for record in state.apps[app]?.transfers ?? [] where !record.hasEnded {
                let obstacle = obstacle(to: record)
                if let run = record.run, let obstacle {
                    changeTransfer(app, record.number) { $0.run = nil }
                    log(.transferWaits, app, "\(record.request.id): \(obstacle)", at: now)
                    act(.stopTransfer(record.number, run: run))
                } else if record.run != nil {
                    running += 1
                } else if obstacle == nil, record.retry == nil,
                    running < PhoneLimits.transfersAtOnce
                {
                    running += 1
                    let run = nextNumber()
                    changeTransfer(app, record.number) { $0.run = run }
                    log(.transferRuns, app, record.request.id, at: now)
                    act(.startTransfer(record.number, run: run))
                }
            }
        }
    }

    private func obstacle(to record: TransferRecord) -> String? {
        if state.network == .off { return "no network" }
        if record.request.needsUnmetered, state.device.isMetered { return "the network is metered" }
        let waits = state.rules.discretionaryTransfers == .whenPluggedInAndUnmetered
        if record.isDiscretionary, waits, !state.device.isPluggedIn || state.device.isMetered {
            return "the system waits for power and a network that is not metered"
        }
        return nil
    }

    /// The network has changed: waiting transfers retry at once.
    mutating func networkChangedForTransfers(at now: PhoneMoment) {
        if state.network != .off {
            for app in appNames {
                for record in state.apps[app]?.transfers ?? [] where record.retry != nil {
                    changeTransfer(app, record.number) { $0.retry = nil }
                }
            }
        }
        runTransfers(at: now)
    }

    /// The next event of the app's transfers: its time and number.
    func transferDue(_ record: AppRecord) -> (at: Int64, number: Int)? {
        record.transfers.filter { !$0.hasEnded }
            .map { (min($0.until, $0.retry ?? .max), $0.number) }.min { $0.0 < $1.0 }
    }

    mutating func transferDue(_ number: Int, at now: PhoneMoment) {
        guard let (app, record) = transfer(number), !record.hasEnded else { return }
        if record.until <= now.microseconds {
            endTransfer(app, number, .failed("it was not done within seven days"), at: now)
        } else {
            changeTransfer(app, number) { $0.retry = nil }
        }
        runTransfers(at: now)
    }

    // MARK: Outcomes

    private mutating func endTransfer(
        _ app: String, _ number: Int, _ end: Transfer.State, at now: PhoneMoment
    ) {
        guard let (_, record) = transfer(number) else { return }
        if let run = record.run { act(.stopTransfer(number, run: run)) }
        changeTransfer(app, number) { record in
            record.transfer.state = end
            (record.run, record.retry, record.isTold) = (nil, nil, false)
        }
        log(.transferEnded, app, "\(record.request.id) \(end.word)", at: now)
        switch end {
        case .finished(_, file: .some): break
        // Its file is not needed any more.
        case .running, .finished, .failed, .cancelled: act(.removeTransfer(number))
        }
        tellTransfers(app)
        transfersDone(app, at: now)
    }

    /// Notifies a running process of ended transfers that it does not know.
    mutating func tellTransfers(_ app: String) {
        guard let process = process(app) else { return }
        switch process.phase {
        case .launching, .suspended: return
        case .foreground, .background: break
        }
        for record in state.apps[app]?.transfers ?? [] where !record.isTold {
            act(.tellTransfer(life: process.life, record.transfer))
            changeTransfer(app, record.number) { $0.isTold = true }
        }
    }

    /// All of an app's transfers are done: an app that does not know it yet is woken for it.
    private mutating func transfersDone(_ app: String, at now: PhoneMoment) {
        guard let record = state.apps[app], record.transfers.allSatisfy(\.hasEnded),
            record.transfers.contains(where: { !$0.isTold })
        else { return }
        if case .launching? = record.process?.phase { return }
        guard !record.isForceQuit else {
            return log(.notLaunched, app, "force quit: transfers", at: now)
        }
        wake(app, reason: .transfers, at: now)
        order(app, .transfersDone, at: now)
    }

    /// A process has begun: it reads the list itself, so no notice is needed.
    mutating func transfersKnown(_ app: String) {
        for record in state.apps[app]?.transfers ?? [] where !record.isTold {
            changeTransfer(app, record.number) { $0.isTold = true }
        }
    }

    /// The user has thrown the app out: Apple's documentation has the system cancel its transfers.
    mutating func transfersForceQuit(_ app: String, at now: PhoneMoment) {
        for record in state.apps[app]?.transfers ?? [] where !record.hasEnded {
            if let run = record.run { act(.stopTransfer(record.number, run: run)) }
            changeTransfer(app, record.number) { record in
                record.transfer.state = .cancelled
                (record.run, record.retry) = (nil, nil)
            }
            act(.removeTransfer(record.number))
            log(.transferEnded, app, "\(record.request.id) cancelled", at: now)
        }
        runTransfers(at: now)
    }

    /// The app is taken away.
    mutating func removeTransfers(_ app: String) {
        for record in state.apps[app]?.transfers ?? [] {
            if let run = record.run { act(.stopTransfer(record.number, run: run)) }
            act(.removeTransfer(record.number))
        }
        _ = change(app) { $0.transfers = [] }
    }

    /// The phone was started: no attempt runs, and the rules decide whether transfers are kept.
    mutating func transfersRestarted(at now: PhoneMoment) {
        for app in appNames {
            for record in state.apps[app]?.transfers ?? [] where !record.hasEnded {
                changeTransfer(app, record.number) { $0.run = nil }
                guard state.rules.transfersAcrossRestart == .cleared else { continue }
                _ = change(app) { $0.transfers.removeAll { $0.number == record.number } }
                act(.removeTransfer(record.number))
                log(.transferEnded, app, "\(record.request.id) forgotten", at: now)
            }
            // One that ended just before the power failed is still to be reported.
            transfersDone(app, at: now)
        }
        runTransfers(at: now)
    }

    // MARK: Looking up

    package func transfer(_ number: Int) -> (String, TransferRecord)? {
        for (app, record) in state.apps {
            if let found = record.transfers.first(where: { $0.number == number }) {
                return (app, found)
            }
        }
        return nil
    }

    private func transfer(_ app: String, _ id: String) -> TransferRecord? {
        state.apps[app]?.transfers.first { $0.request.id == id }
    }

    mutating func changeTransfer(
        _ app: String, _ number: Int, _ body: (inout TransferRecord) -> Void
    ) {
        _ = change(app) { record in
            let index = record.transfers.firstIndex { $0.number == number }
            if let index { body(&record.transfers[index]) }
        }
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
