package import RepriseCore
package import RepriseWire

/// A message log with metrics: the duration, size and failures of commits.
package struct MeasuredLog: MessageLog {
    let log: any MessageLog
    let metrics: ServerMetrics
    let clock: any Timekeeper

    package var executor: (any TaskExecutor)? { log.executor }

    package func append(_ batch: [NewMessage]) async throws -> [AppendResult] {
        try await append(batch, since: nil)
    }

    package func append(
        _ batch: [NewMessage], since taken: Duration?
    ) async throws -> [AppendResult] {
        let began = clock.uptime()
        do {
            let results = try await log.append(batch, since: taken)
            metrics.committed(results, after: clock.uptime() - began)
            return results
        } catch {
            metrics.commitFailed(batch.count, after: clock.uptime() - began)
            throw error
        }
    }

    package func probe() async throws { try await log.probe() }

    package func state(of channel: ChannelName) async throws -> LogChannelState {
        try await log.state(of: channel)
    }

    package func head(of channel: ChannelName) throws -> Int64 { try log.head(of: channel) }

    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage {
        try await log.page(of: channel, missing: missing, limit: limit, byteLimit: byteLimit)
    }

    package func unread(
        of user: UserID, in channel: ChannelName, after: Int64
    ) async throws -> Unread {
        try await log.unread(of: user, in: channel, after: after)
    }

    package func unread(_ asked: [UnreadQuestion]) async throws -> [Unread] {
        try await log.unread(asked)
    }

    package func changes(
        since number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> LogChanges {
        log.changes(since: number, among: names)
    }

    package func trim(_ channel: ChannelName, through: Int64) async throws -> LogChannelState {
        try await log.trim(channel, through: through)
    }

    package func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws {
        try await log.trim(policy, now: now, overrides: overrides)
    }

    package func eraseDeleted() async throws { try await log.eraseDeleted() }

    package func close() async { await log.close() }
}
