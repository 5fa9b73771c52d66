package import RepriseCore
package import RepriseWire

/// The log of a gateway in a cluster: reads its view, and writes by the journal.
package final class ClusterLog: MessageLog {
    private let view: ClusterView
    private let submit: TimedSubmission
    private let housekeeping: (@Sendable () -> Int64?)?
    private let skipped: SkippedCommands?

    /// Makes a log.
    ///
    /// - Parameters:
    ///   - view: what is read.
    ///   - submit: ``ClusterReplica/submit(_:)``.
    package convenience init(_ view: ClusterView, submit: @escaping CommandSubmission) {
        self.init(view, housekeeping: nil, skipped: nil) { commands, _ in
            try await submit(commands)
        }
    }

    /// Makes a log that writes by a replica of the view.
    package convenience init(_ view: ClusterView, by replica: ClusterReplica) {
        self.init(view, housekeeping: nil, skipped: nil) { try await replica.submit($0, since: $1) }
    }

    init(
        _ view: ClusterView, housekeeping: (@Sendable () -> Int64?)?, skipped: SkippedCommands?,
        submit: @escaping TimedSubmission
    ) {
        self.skipped = skipped
        self.view = view
        self.housekeeping = housekeeping
        self.submit = submit
    }

    /// What a user may do is decided when the messages are applied, and not by
    /// ``NewMessage/mayChangeOthers``; who has no name is an admin.
    package func append(_ batch: [NewMessage]) async throws -> [AppendResult] {
        try await append(batch, since: nil)
    }

    package func append(
        _ batch: [NewMessage], since taken: Duration?
    ) async throws -> [AppendResult] {
        guard !batch.isEmpty else { return [] }
        if let skipped, !skipped.isEmpty {
            var refused: [Bool] = []
            for message in batch { refused.append(try await skipped.has(message)) }
            if refused.contains(true) {
                let rest = zip(batch, refused).filter { !$1 }.map(\.0)
                var results = try await append(rest, since: taken)[...]
                return refused.map { $0 ? Self.skippedBefore : results.removeFirst() }
            }
        }
        let commands = Self.commands(for: batch)
        let outcomes = try await submit(commands, taken)
        let results: [AppendResult] = try zip(commands, outcomes).flatMap { command, outcome in
            // An operator has them skipped: sent again, they would stop the cluster again.
            if case .publish(let run) = command, case .refused(let error) = outcome {
                return run.messages.map { _ in AppendResult.refused(.forbidden, error.message) }
            }
            return try Self.results(of: [outcome])
        }
        // Somebody else may have written an entry in this gateway's turn.
        guard results.count == batch.count else { throw Self.isOther }
        return results
    }

    private static let isOther = RepriseError(
        .internal, "Messages have another outcome than their own.")

    private static let skippedBefore = AppendResult.refused(
        .forbidden, SkippedCommands.refusal.message)

    /// What brings messages into the journal.
    package static func commands(for batch: [NewMessage]) -> [ClusterCommand] {
        var runs: [PublishMessages] = []
        var bytes = 0
        for message in batch {
            let who = Principal(
                user: message.from, isAdmin: message.from == nil || message.isAdmin)
            bytes += message.body.count
            if let last = runs.last, last.who == who, last.fence == message.fence,
                bytes <= Self.runBytes, last.messages.count < Self.runMessages
            {
                runs[runs.count - 1].messages.append(message.publish)
            } else {
                runs.append(PublishMessages([message.publish], by: who, fence: message.fence))
                bytes = message.body.count
            }
        }
        return runs.map { .publish($0) }
    }

    /// What became of the messages.
    package static func results(of outcomes: [CommandOutcome]) throws -> [AppendResult] {
        try outcomes.flatMap { outcome in
            guard case .published(let results) = outcome else { throw isOther }
            return results
        }
    }

    /// The most bytes of bodies in a command, unless one has more.
    private static let runBytes = 256 << 10
    /// The most messages in a command.
    private static let runMessages = 256

    package func probe() async throws { _ = try await submit([.nop], nil) }

    package func trim(_ channel: ChannelName, through: Int64) async throws -> LogChannelState {
        try await trim(channel, through: through, grant: nil)
        return try await state(of: channel)
    }

    private func trim(_ channel: ChannelName, through: Int64, grant: Int64?) async throws {
        while case .trimmed(_, more: true)? =
            try await submit([.trim(channel, through: through, grant: grant)], nil).first
        {
            try Task.checkCancellation()
        }
    }

    package func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws {
        var grant: Int64?
        if let housekeeping {
            grant = housekeeping()
            guard grant != nil else { return }
            let (time, isHeld) = view.time
            guard !isHeld,
                abs(time.milliseconds - now.milliseconds)
                    <= ClusterLimits.clockDifference.milliseconds
            else {
                throw RepriseError(
                    .unavailable, "This gateway's clock and the journal's differ too much to trim.",
                    remedy: "Set the clocks of the gateways and of NATS by NTP.")
            }
        }
        if !policy.keepsAll || overrides != nil {
            try await view.log.eachDue(policy, now: now, overrides: overrides) { [grant] in
                try await self.trim($0, through: $1, grant: grant)
            }
        }
        while let run = try await view.log.forgettableRun(at: now) {
            let outcome = try await submit([.forgetIDs(run: run, grant: grant)], nil).first
            // Another gateway may do it now.
            guard case .forgot? = outcome else { return }
        }
    }

    // MARK: Reading

    package func state(of channel: ChannelName) async throws -> LogChannelState {
        try await view.log.state(of: channel)
    }

    package func head(of channel: ChannelName) throws -> Int64 {
        try view.log.head(of: channel)
    }

    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage {
        try await view.log.page(
            of: channel, missing: missing, limit: limit, byteLimit: byteLimit)
    }

    package func unread(
        of user: UserID, in channel: ChannelName, after: Int64
    ) async throws -> Unread {
        try await view.log.unread(of: user, in: channel, after: after)
    }

    package func unread(_ asked: [UnreadQuestion]) async throws -> [Unread] {
        try await view.log.unread(asked)
    }

    package func changes(
        since number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> LogChanges {
        view.log.changes(since: number, among: names)
    }

    package func eraseDeleted() async throws { try await view.log.eraseDeleted() }

    package func close() async { await view.close() }
}
