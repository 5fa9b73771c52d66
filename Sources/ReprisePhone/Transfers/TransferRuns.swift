import Foundation
import RepriseCore
import RepriseNIO

/// The attempts at transfers that are under way, by the transfers' numbers; a part of the
/// supervisor.
struct TransferRuns {
    private struct Attempt {
        let run: Int
        let task: Task<Void, Never>
        /// The position; not written to the disk, as the file has it.
        var bytes: Int64
        var total: Int64?
        var told: ContinuousClock.Instant
    }

    private var attempts: [Int: Attempt] = [:]
    private let transport: any HTTPTransport = NIOTransport()

    mutating func start(
        _ record: TransferRecord, _ run: Int, _ attempt: TransferAttempt,
        ended: @escaping @Sendable (TransferRecord.Outcome?) async -> Void
    ) {
        let before = attempts[record.number]?.task
        let transport = transport
        let task = Task {
            // Two attempts never write to one file.
            await before?.value
            guard !Task.isCancelled else { return }
            await ended(await attempt.run(over: transport))
        }
        attempts[record.number] = Attempt(
            run: run, task: task, bytes: record.transfer.bytes, total: record.transfer.total,
            told: .now)
    }

    /// Cancels an attempt; it stays until it has ended, because the next one waits for that.
    func stop(_ number: Int, _ run: Int) {
        if attempts[number]?.run == run { attempts[number]?.task.cancel() }
    }

    /// Cancels a transfer's attempt, and removes its file after that.
    func remove(_ number: Int, _ file: URL) {
        guard let task = attempts[number]?.task else {
            try? FileManager.default.removeItem(at: file)
            return
        }
        task.cancel()
        Task {
            await task.value
            try? FileManager.default.removeItem(at: file)
        }
    }

    func cancelAll() { for attempt in attempts.values { attempt.task.cancel() } }

    /// - Returns: the last position; nil if it is not the newest attempt.
    mutating func ended(_ number: Int, _ run: Int) -> (bytes: Int64, total: Int64?)? {
        guard let attempt = attempts[number], attempt.run == run else { return nil }
        attempts[number] = nil
        return (attempt.bytes, attempt.total)
    }

    /// - Returns: whether its app is to be told the position.
    mutating func moved(_ number: Int, _ run: Int, _ bytes: Int64, _ total: Int64?) -> Bool {
        guard attempts[number]?.run == run else { return false }
        attempts[number]?.bytes = bytes
        attempts[number]?.total = total
        let pause = Duration.milliseconds(PhoneLimits.transferProgressMilliseconds)
        return attempts[number].map { $0.told + pause <= .now } ?? false
    }

    /// - Returns: the transfer with its position, which its app is told now.
    mutating func telling(_ record: TransferRecord) -> Transfer {
        attempts[record.number]?.told = .now
        return withProgress(record.transfer, record.number)
    }

    /// - Returns: the transfers of an app, with their positions.
    func withProgress(_ transfers: [Transfer], of records: [TransferRecord]) -> [Transfer] {
        transfers.map { transfer in
            let record = records.first { $0.request.id == transfer.id && $0.run != nil }
            return record.map { withProgress(transfer, $0.number) } ?? transfer
        }
    }

    private func withProgress(_ transfer: Transfer, _ number: Int) -> Transfer {
        guard let attempt = attempts[number] else { return transfer }
        var transfer = transfer
        transfer.bytes = attempt.bytes
        transfer.total = attempt.total ?? transfer.total
        return transfer
    }
}
