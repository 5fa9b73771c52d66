package import RepriseCore
package import RepriseWire

/// Decides what the outbox sends, which message an answer belongs to, and what it means for the
/// entry.
///
/// Many messages of a channel are in flight at once, in the order recorded, each naming the
/// previous one that has not ended: so a refusal in the middle cannot change the order. A message
/// is in flight from `dispatched` to `ended`. The first answer counts: a later one, or one for a
/// message not in flight, is late or meant for an earlier connection.
package struct OutboxMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        /// The age after which an attempted message is not sent again, because the server may have
        /// forgotten its id.
        package var window: Duration
        /// The timeout for the server's answer.
        package var timeout: Duration

        package init(window: Duration = .seconds(30 * 86_400), timeout: Duration = .seconds(30)) {
            self.window = window
            self.timeout = timeout
        }
    }

    package enum Answer: Hashable, Sendable {
        case published(seq: Int64)
        case refused(ServerFrame.Refused)
        case disconnected
        case timedOut
    }

    /// Only a permanent refusal or the age of an attempted message ends one: a server that is
    /// overloaded for a day loses no message.
    package static let kind = EntryKind(
        "channels.outbox", requires: [.session], attemptLimit: .max,
        parallel: OutboxLimits.inFlight, partitionWindow: OutboxLimits.inFlightOfChannel)

    private struct Slot {
        let number: Int
        let sentAt: Duration
        let after: EntryID?
        var answer: Answer?
    }

    private let settings: Settings
    private var isConnected = false
    /// The server's time at its welcome.
    private var serverTime: WallTime?
    /// Messages in flight.
    private var slots: [EntryID: Slot] = [:]
    /// How many were ever sent, so that events of many messages keep the order of sending.
    private var sent = 0

    package init(settings: Settings = Settings()) { self.settings = settings }

    // MARK: The connection

    package mutating func connected(serverTime: WallTime) {
        isConnected = true
        self.serverTime = serverTime
    }

    /// - Returns: the messages that this ends; whether the server has them is unknown.
    package mutating func disconnected() -> [EntryID] {
        isConnected = false
        return answerAll(.disconnected) { _ in true }
    }

    /// - Returns: the message that this answers, if any.
    package mutating func published(_ published: ServerFrame.Published) -> EntryID? {
        answered(published.id, .published(seq: published.seq)) ? published.id : nil
    }

    /// - Returns: the message that this answers, if any.
    package mutating func refused(_ refused: ServerFrame.Refused) -> EntryID? {
        guard let text = refused.id, let id = try? EntryID(text) else { return nil }
        return answered(id, .refused(refused)) ? id : nil
    }

    // MARK: Time

    /// When to look for overdue messages; nil: no message waits for an answer.
    package var due: Duration? {
        slots.values.lazy.filter { $0.answer == nil }.map(\.sentAt).min().map {
            $0 + settings.timeout
        }
    }

    /// - Returns: the messages without an answer in time.
    package mutating func timerFired(at now: Duration) -> [EntryID] {
        let timeout = settings.timeout
        return answerAll(.timedOut) { now >= $0.sentAt + timeout }
    }

    private mutating func answerAll(_ answer: Answer, where condition: (Slot) -> Bool) -> [EntryID]
    {
        let found = slots.filter { $0.value.answer == nil && condition($0.value) }
        for id in found.keys { slots[id]?.answer = answer }
        return found.sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    // MARK: Messages

    /// The journal dispatches an entry.
    ///
    /// - Returns: the frame to send.
    /// - Throws: the error by which the journal disposes of the entry; then it is not in flight.
    package mutating func dispatched(_ entry: Entry, wall: WallTime, at now: Duration) throws
        -> [UInt8]
    {
        let channel = try ChannelName(entry.partitionKey ?? "")
        let content: OutboxContent
        do {
            content = try OutboxContent(entry)
        } catch {
            throw DispatchFailure.permanent("It cannot be read: \(error)")
        }
        try checkAge(of: entry, wall: wall)
        guard isConnected else { throw DispatchFailure.notReady("There is no connection.") }
        sent += 1
        slots[entry.id] = Slot(number: sent, sentAt: now, after: entry.predecessor, answer: nil)
        let publish = ClientFrame.Publish(
            channel: channel, id: entry.id, after: entry.predecessor, change: content.change,
            body: content.body)
        return ClientFrame.publish(publish).encoded()
    }

    /// - Returns: whether it was in flight and not answered before.
    package mutating func answered(_ id: EntryID, _ answer: Answer) -> Bool {
        guard let slot = slots[id], slot.answer == nil else { return false }
        slots[id]?.answer = answer
        return true
    }

    /// Whether a message in flight has its answer.
    package func isAnswered(_ id: EntryID) -> Bool { slots[id]?.answer != nil }

    /// The refusal of a message in flight.
    package func refusal(of id: EntryID) -> ServerFrame.Refused? {
        if case .refused(let refused) = slots[id]?.answer { refused } else { nil }
    }

    /// A message is no longer in flight.
    ///
    /// - Returns: its sequence: the server has it.
    /// - Throws: the error by which the journal disposes of the entry.
    package mutating func ended(_ entry: Entry, jitter: Double) throws -> Int64 {
        let slot = slots.removeValue(forKey: entry.id)
        switch slot?.answer {
        case .published(let seq): return seq
        case .refused(let refused):
            throw failure(refused, after: slot?.after, attempt: entry.attempt, jitter: jitter)
        // The gate is closed by now, so it is not dispatched again before a connection exists.
        case .disconnected, nil: throw RequeueInOrder("The connection ended.")
        case .timedOut: throw DispatchFailure.notReady("The server did not answer in time.")
        }
    }

    private func failure(
        _ refused: ServerFrame.Refused, after: EntryID?, attempt: Int, jitter: Double
    ) -> any Error {
        let reason = "\(refused.code): \(refused.message)"
        guard refused.code.isTemporary else { return DispatchFailure.permanent(reason) }
        // It waits for the one that it named, or is dispatched again at once without it if that has
        // ended.
        if refused.code == .predecessorMissing, after != nil { return RequeueInOrder(reason) }
        // Spread out, so that clients with the same answer do not retry at once.
        let wait = Self.kind.backoff.delay(failures: attempt, jitter: jitter)
        return DispatchFailure.retry(after: refused.wait + wait, reason)
    }

    /// The server remembers ids for this long; after that a second sending could be stored as a
    /// second message.
    ///
    /// Both clocks must agree: a wrong calendar must not end anything.
    private func checkAge(of entry: Entry, wall: WallTime) throws {
        guard entry.attempt > 1, let serverTime else { return }
        let now = min(serverTime, wall)
        guard entry.recordedAt.duration(to: now) > settings.window else { return }
        throw DispatchFailure.permanent(
            "It was sent before and is older than the server's memory of ids: it may have been stored."
        )
    }
}
