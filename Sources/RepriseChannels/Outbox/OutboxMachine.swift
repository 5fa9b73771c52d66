package import RepriseCore
package import RepriseWire

/// Decides what the outbox sends, which answer belongs to which message, and what an answer means for its entry.
///
/// A message is in hand from `handedOver` to `ended`. The first answer counts: one that comes later, or for a message that is not
/// in hand, is late or meant for an earlier connection.
package struct OutboxMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        /// After how long an attempted message is not sent again, because the server may have forgotten its id.
        package var window: Duration
        /// How long the server may take to answer.
        package var patience: Duration

        package init(window: Duration = .seconds(30 * 86_400), patience: Duration = .seconds(30)) {
            self.window = window
            self.patience = patience
        }
    }

    package enum Answer: Hashable, Sendable {
        case published
        case refused(ServerFrame.Refused)
        case disconnected
        case timedOut
    }

    package static let kind = EntryKind(
        "channels.outbox", requires: [.session], attemptLimit: 100, parallel: 64)

    private let settings: Settings
    private var isConnected = false
    /// What the server's clock said when it welcomed us.
    private var serverTime: WallTime?
    /// Messages in hand, in the order in which they were sent; nil: not answered.
    private var slots: [(id: EntryID, answer: Answer?)] = []

    package init(settings: Settings = Settings()) { self.settings = settings }

    // MARK: The connection

    package mutating func connected(serverTime: WallTime) {
        isConnected = true
        self.serverTime = serverTime
    }

    /// - Returns: the messages that are answered by this: nobody knows whether the server has them.
    package mutating func disconnected() -> [EntryID] {
        isConnected = false
        let unanswered = slots.filter { $0.answer == nil }.map(\.id)
        for id in unanswered { _ = answered(id, .disconnected) }
        return unanswered
    }

    /// - Returns: the message that is answered by this, if one is.
    package mutating func published(_ published: ServerFrame.Published) -> EntryID? {
        answered(published.id, .published) ? published.id : nil
    }

    /// - Returns: the message that is answered by this, if one is.
    package mutating func refused(_ refused: ServerFrame.Refused) -> EntryID? {
        guard let text = refused.id, let id = try? EntryID(text) else { return nil }
        return answered(id, .refused(refused)) ? id : nil
    }

    // MARK: Messages

    /// The journal hands an entry over.
    ///
    /// - Returns: the frame to send; it is to be answered within ``Settings/patience``.
    /// - Throws: by what the journal decides what becomes of the entry; then it is not in hand.
    package mutating func handedOver(_ entry: Entry, wall: WallTime) throws -> [UInt8] {
        let channel = try ChannelName(entry.lane ?? "")
        try checkAge(of: entry, wall: wall)
        guard isConnected else { throw HandOverFailure.notReady("There is no connection.") }
        slots.removeAll { $0.id == entry.id }
        slots.append((entry.id, nil))
        return ClientFrame.publish(.init(channel: channel, id: entry.id, body: entry.payload))
            .encoded()
    }

    /// - Returns: whether it was in hand and not answered before.
    package mutating func answered(_ id: EntryID, _ answer: Answer) -> Bool {
        guard let index = slots.firstIndex(where: { $0.id == id }), slots[index].answer == nil
        else { return false }
        slots[index].answer = answer
        return true
    }

    /// Whether a message in hand has its answer.
    package func isAnswered(_ id: EntryID) -> Bool {
        slots.contains { $0.id == id && $0.answer != nil }
    }

    /// A message is no longer in hand.
    ///
    /// - Throws: by what the journal decides what becomes of the entry; nothing if the server has it.
    package mutating func ended(_ entry: Entry, jitter: Double) throws {
        defer { slots.removeAll { $0.id == entry.id } }
        switch slots.first(where: { $0.id == entry.id })?.answer {
        case .published: return
        case .refused(let refused): throw failure(refused, attempt: entry.attempt, jitter: jitter)
        case .disconnected, nil: throw HandOverFailure.notReady("The connection ended.")
        case .timedOut: throw HandOverFailure.notReady("The server did not answer in time.")
        }
    }

    private func failure(_ refused: ServerFrame.Refused, attempt: Int, jitter: Double) -> any Error
    {
        let reason = "\(refused.code): \(refused.message)"
        guard refused.code.isTemporary else { return HandOverFailure.permanent(reason) }
        // Spread out, so that all who were told the same do not come at once.
        let wait = Self.kind.backoff.delay(failures: attempt, jitter: jitter)
        return HandOverFailure.retry(after: (refused.retryAfter ?? .zero) + wait, reason)
    }

    /// The server remembers ids for so long; after that a second sending could be stored as a second message.
    ///
    /// Both clocks must say so: a calendar that is wrong must not end anything.
    private func checkAge(of entry: Entry, wall: WallTime) throws {
        guard entry.attempt > 1, let serverTime else { return }
        let now = min(serverTime, wall)
        guard entry.recordedAt.duration(to: now) > settings.window else { return }
        throw HandOverFailure.permanent(
            "It was sent before and is older than the server's memory of ids: it may have been stored."
        )
    }
}
