import RepriseChannels
import RepriseCore
import RepriseWire

/// Readers in the model: the same rows, by the same rules.
extension ChannelsModel {
    mutating func begin(_ reader: ReaderRows, _ options: ReaderOptions, now: WallTime)
        -> ReaderStore.Position
    {
        let place = place(of: reader) ?? readers.count
        if place == readers.count {
            readers.append(
                Reader(
                    channel: reader.channel, name: reader.name,
                    isOrdered: reader.order == .ordered))
        }
        let id = Int64(place + 1)
        for index in readers[place].exceptions.indices
        where readers[place].exceptions[index].state == .dispatched {
            interrupt(&readers[place].exceptions[index], options, now: now)
        }
        let (cursor, dispatching) = (readers[place].cursor, readers[place].dispatching)
        guard dispatching > cursor else { return .init(reader: id, cursor: cursor) }
        let state = Self.stateAfterInterruption(options, failures: 1)
        let inDoubt =
            reader.order == .ordered
            ? sequences(of: reader.channel, after: cursor, through: dispatching)
            : arrivals(after: cursor, through: dispatching)
        for message in inDoubt {
            readers[place].replace(
                Exception(
                    arrival: message.arrival, attempts: 1, failures: 1, state: state, due: now,
                    reason: ReaderStore.interruption))
        }
        readers[place].cursor = dispatching
        return .init(reader: id, cursor: dispatching)
    }

    /// A window never spans two logs.
    private func arrivals(after cursor: Int64, through dispatching: Int64) -> [Stored] {
        let base = Self.base(of: dispatching >> Self.arrivalBits)
        let log = Int(dispatching >> Self.arrivalBits) - 1
        guard logs.indices.contains(log) else { return [] }
        return logs[log].messages.filter {
            $0.arrival > max(cursor, base) && $0.arrival <= dispatching
        }
    }

    private func interrupt(_ exception: inout Exception, _ options: ReaderOptions, now: WallTime) {
        exception.failures += 1
        exception.due = now
        exception.reason = ReaderStore.interruption
        exception.state = Self.stateAfterInterruption(options, failures: exception.failures)
    }

    private static func stateAfterInterruption(_ options: ReaderOptions, failures: Int)
        -> ReaderStore.State
    {
        switch options.onInterruption {
        case .never: .unconfirmed
        case .again: failures >= options.attemptLimit ? .dead : .waiting
        }
    }

    private func place(of reader: ReaderRows) -> Int? {
        readers.firstIndex { $0.channel == reader.channel && $0.name == reader.name }
    }

    func page(_ reader: ReaderRows, after cursor: Int64) -> [Arrived] {
        if reader.order == .ordered { return orderedPage(reader, after: cursor) }
        for place in logs(of: reader.channel) where place + 1 >= Int(cursor >> Self.arrivalBits) {
            let messages = logs[place].messages
            var index = messages.endIndex
            while index > messages.startIndex, messages[index - 1].arrival > cursor { index -= 1 }
            var page: [Arrived] = []
            var bytes = 0
            for message in messages[index...].prefix(ReaderStore.pageLimit)
            where bytes < ReaderStore.pageBytes {
                bytes += message.body.count
                page.append(arrived(message, in: reader.channel, attempt: 1))
            }
            guard page.isEmpty else { return page }
        }
        return []
    }

    func arrived(
        _ message: Stored, in channel: ChannelName, attempt: Int, position: Int64? = nil
    ) -> Arrived {
        Arrived(
            arrival: message.arrival, position: position,
            message: Message(
                channel: channel, seq: message.seq, id: message.id, time: message.time,
                from: message.from, change: message.change, isDeleted: message.isDeleted,
                body: message.body, attempt: attempt))
    }

    func due(_ reader: ReaderRows, of id: Int64, now: WallTime) -> ReaderStore.Due {
        let waiting = readers[Int(id) - 1].exceptions.filter { $0.state == .waiting }
        if reader.order == .ordered { return orderedDue(reader, waiting, now: now) }
        let due = waiting.filter { $0.due <= now }.sorted {
            ($0.due, $0.arrival) < ($1.due, $1.arrival)
        }
        let messages = due.prefix(ReaderStore.dueLimit).compactMap { exception in
            message(exception.arrival).map {
                ReaderStore.Exceptional(
                    arrived: arrived($0, in: reader.channel, attempt: exception.attempts + 1),
                    attempts: exception.attempts, failures: exception.failures)
            }
        }
        return .init(
            messages: messages, next: waiting.lazy.map(\.due).filter { $0 > now }.min())
    }

    /// A wait keeps its length when the calendar is set.
    mutating func calendarMoved(by milliseconds: Int64) {
        let most: Int64 = 4_000_000_000_000_000_000
        func clamped(_ value: Int64) -> Int64 { max(min(value, most), -most) }
        for place in readers.indices {
            for index in readers[place].exceptions.indices {
                let due = readers[place].exceptions[index].due.milliseconds
                readers[place].exceptions[index].due = WallTime(
                    milliseconds: clamped(due) + clamped(milliseconds))
            }
        }
    }

    mutating func markDispatched(of id: Int64, arrival: Int64) {
        let place = Int(id) - 1
        guard let index = readers[place].place(of: arrival),
            readers[place].exceptions[index].state == .waiting
        else { return }
        readers[place].exceptions[index].state = .dispatched
        readers[place].exceptions[index].attempts += 1
    }

    mutating func settle(
        of id: Int64, _ acknowledgement: ReaderWrite.Acknowledgement, now: WallTime
    ) {
        let place = Int(id) - 1
        guard let ending = acknowledgement.ending else {
            readers[place].exceptions.removeAll { $0.arrival == acknowledgement.arrival }
            return
        }
        readers[place].replace(
            Exception(
                arrival: acknowledgement.arrival, attempts: acknowledgement.attempts,
                failures: acknowledgement.failures, state: ending.state,
                due: now.advanced(by: ending.wait),
                reason: String(ending.reason.prefix(256))))
    }

    mutating func write(of id: Int64, _ write: ReaderWrite, now: WallTime) {
        for acknowledgement in write.acknowledgements { settle(of: id, acknowledgement, now: now) }
        readers[Int(id) - 1].cursor = write.cursor
        readers[Int(id) - 1].dispatching = write.dispatching
    }
}

// MARK: For those who check

extension ChannelsModel {
    func contents(of channel: ChannelName) -> ChannelContents {
        var contents = ChannelContents()
        let places = logs(of: channel)
        for place in places {
            for message in logs[place].messages {
                contents.messages.append(
                    .init(
                        epoch: logs[place].epoch, seq: message.seq, id: message.id,
                        change: message.change, isDeleted: message.isDeleted,
                        body: message.body))
            }
        }
        for loss in losses where places.contains(Int(loss.log) - 1) {
            contents.losses.append(
                .init(
                    epoch: logs[Int(loss.log) - 1].epoch, after: loss.after, through: loss.through,
                    reason: loss.reason.rawValue))
        }
        for reader in readers where reader.channel == channel {
            for exception in reader.exceptions {
                guard let message = message(exception.arrival) else { continue }
                contents.exceptions.append(
                    .init(
                        reader: reader.name, id: message.id, state: exception.state,
                        attempts: exception.attempts))
            }
        }
        return contents
    }

    func ledger() -> LedgerSum {
        var sum = LedgerSum()
        for (place, log) in logs.enumerated() {
            sum.accepted += log.accepted
            sum.duplicates += log.duplicates
            add(place, log, to: &sum)
        }
        sum.lost = lost()
        return sum
    }

    private func add(_ place: Int, _ log: Log, to sum: inout LedgerSum) {
        let readers = readers.filter { $0.channel == log.channel }
        let reached = reached(place, log, readers)
        func isPassed(_ message: Stored) -> Bool {
            message.arrival <= reached.arrival && message.seq <= reached.seq
        }
        let passed = Int64(log.messages.count(where: isPassed))
        var worst: [Int64: Int] = [:]
        for reader in readers {
            for exception in reader.exceptions {
                guard Int(exception.arrival >> Self.arrivalBits) == place + 1,
                    let message = message(exception.arrival), isPassed(message)
                else { continue }
                let rank =
                    switch exception.state {
                    case .waiting, .dispatched: 0
                    case .dead: 1
                    case .unconfirmed: 2
                    }
                worst[exception.arrival] = min(worst[exception.arrival] ?? rank, rank)
            }
        }
        var counts: [Int64] = [0, 0, 0]
        for rank in worst.values { counts[rank] += 1 }
        sum.pending += Int64(log.messages.count) - passed + counts[0]
        sum.outcomes[.dead, default: 0] += counts[1]
        sum.outcomes[.unconfirmed, default: 0] += counts[2]
        sum.outcomes[.applied, default: 0] += passed - counts.reduce(0, +)
    }

    /// One line for what is known and one for what is not, for each channel and reason.
    private func lost() -> [LedgerSum.Loss] {
        var sums: [LedgerSum.Loss] = []
        for loss in losses {
            let channel = logs[Int(loss.log) - 1].channel.text
            let reason = loss.reason.rawValue
            let count = loss.through.map { $0 - loss.after }
            let place = sums.firstIndex {
                $0.channel == channel && $0.reason == reason && ($0.count == nil) == (count == nil)
            }
            if let place {
                sums[place].count = sums[place].count.map { $0 + (count ?? 0) }
            } else {
                sums.append(.init(channel: channel, reason: reason, count: count))
            }
        }
        return sums.sorted {
            ($0.channel, $0.reason, $0.count == nil ? 1 : 0)
                < ($1.channel, $1.reason, $1.count == nil ? 1 : 0)
        }
    }
}

extension ChannelsModel {
    /// Every row, as the tables have it.
    var dump: [String] {
        var lines: [String] = []
        for (place, log) in logs.enumerated() {
            lines.append(
                "log|\(place + 1)|\(log.channel)|\(log.epoch)|\(log.coverage)|\(log.head)|"
                    + "\(log.version)|\(log.accepted)|\(log.duplicates)")
        }
        for (place, log) in logs.enumerated() {
            for message in log.messages {
                lines.append(
                    "message|\(message.arrival)|\(place + 1)|\(message.seq)|\(message.prev)|"
                        + "\(message.id)|\(message.time.milliseconds)|\(message.body)|"
                        + Self.text(message.change) + (message.isDeleted ? "|1" : "|0"))
            }
        }
        for (channel, ids) in former.sorted(by: { $0.key < $1.key }) {
            for (id, arrival) in ids.sorted(by: { $0.key.text < $1.key.text }) {
                lines.append("former|\(channel)|\(id)|\(arrival)")
            }
        }
        for (place, log) in logs.enumerated() {
            for (seq, arrival) in log.aliases.sorted(by: { $0.key < $1.key }) {
                lines.append("alias|\(place + 1)|\(seq)|\(arrival)")
            }
        }
        for (place, log) in logs.enumerated() {
            for (seq, change) in log.formerChanges.sorted(by: { $0.key < $1.key }) {
                var arrival = "-"
                if case .edits = change { arrival = "\(log.aliases[seq] ?? 0)" }
                lines.append("change|\(place + 1)|\(seq)|\(Self.text(change))|\(arrival)")
            }
        }
        for (place, log) in logs.enumerated() {
            guard let snapshot = log.snapshot else { continue }
            var lost = Coverage()
            for range in snapshot.lost { lost.insert(range) }
            lines.append(
                "snapshot|\(place + 1)|\(snapshot.position)|\(lost)|\(snapshot.reason.rawValue)")
        }
        for (place, reader) in readers.enumerated() {
            lines.append(
                "reader|\(place + 1)|\(reader.channel)|\(reader.name)|\(reader.cursor)|"
                    + "\(reader.dispatching)|\(reader.isOrdered ? 1 : 0)")
        }
        for (place, reader) in readers.enumerated() {
            for exception in reader.exceptions {
                lines.append(
                    "exception|\(place + 1)|\(exception.arrival)|\(exception.attempts)|"
                        + "\(exception.failures)|\(exception.state.rawValue)|"
                        + "\(exception.due.milliseconds)|\(exception.reason)")
            }
        }
        for loss in losses {
            lines.append(
                "lost|\(loss.log)|\(loss.after)|\(loss.through.map { "\($0)" } ?? "-")|"
                    + loss.reason.rawValue)
        }
        return lines
    }
    private static func text(_ change: MessageChange<Int64>?) -> String {
        switch change {
        case .edits(let target): "1|\(target)"
        case .deletes(let target): "2|\(target)"
        case nil: "-|-"
        }
    }
}
