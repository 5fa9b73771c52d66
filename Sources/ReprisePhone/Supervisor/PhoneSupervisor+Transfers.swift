import Foundation
import RepriseCore

/// An attempt at a transfer that is under way.
struct TransferWork {
    let run: Int
    let task: Task<Void, Never>
    /// The position; not written to the disk, as the file has it.
    var bytes: Int64
    var total: Int64?
    var told: ContinuousClock.Instant
}

/// The transfers that the system runs for apps.
extension PhoneSupervisor {
    func startTransfer(_ number: Int, _ run: Int) {
        guard let record = machine.state.transfers[number]?.record else { return }
        let keeps = machine.state.rules.interruptedDownload == .continued
        let attempt = TransferAttempt(
            request: record.request, file: folder.transfer(number),
            part: keeps ? record.part : nil, room: machine.state.device.freeBytes ?? .max,
            surroundings: surroundings(number, run))
        let before = transfers[number]?.task
        let transport = transport
        let task = Task { [weak self] in
            // Two attempts never write to one file.
            await before?.value
            guard !Task.isCancelled else { return }
            let outcome = await attempt.run(over: transport)
            await self?.transferEnded(number, run, outcome)
        }
        transfers[number] = TransferWork(
            run: run, task: task, bytes: record.transfer.bytes, total: record.transfer.total,
            told: .now)
    }

    private func surroundings(_ number: Int, _ run: Int) -> TransferAttempt.Surroundings {
        TransferAttempt.Surroundings(
            network: { [weak self] in await self?.machine.state.network ?? .off },
            began: { [weak self] part in
                await self?.step { machine, _ in
                    machine.transferBegan(number, run: run, part: part)
                }
            },
            progress: { [weak self] in await self?.transferMoved(number, run, $0, $1) })
    }

    func stopTransfer(_ number: Int, _ run: Int) {
        // It stays until it has ended: the next attempt waits for that.
        if transfers[number]?.run == run { transfers[number]?.task.cancel() }
    }

    func removeTransfer(_ number: Int) {
        let file = folder.transfer(number)
        guard let task = transfers[number]?.task else {
            try? FileManager.default.removeItem(at: file)
            return
        }
        task.cancel()
        Task {
            await task.value
            try? FileManager.default.removeItem(at: file)
        }
    }

    /// Removes unreferenced files of a former run.
    func keepTransfers(_ numbers: Set<Int>) {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.transfers.path)
        for name in names ?? [] where Int(name).map(numbers.contains) != true {
            try? FileManager.default.removeItem(at: folder.transfers.appendingPathComponent(name))
        }
    }

    private func transferEnded(_ number: Int, _ run: Int, _ outcome: TransferRecord.Outcome?) {
        guard let work = transfers[number], work.run == run else { return }
        transfers[number] = nil
        guard let outcome, !isEnding else { return }
        var bytes = work.bytes
        if case .finished(_, let all) = outcome { bytes = all }
        step { machine, now in
            machine.transferEnded(
                number, run: run, outcome, bytes: bytes, total: work.total, at: now)
        }
    }

    private func transferMoved(_ number: Int, _ run: Int, _ bytes: Int64, _ total: Int64?) {
        guard transfers[number]?.run == run else { return }
        transfers[number]?.bytes = bytes
        transfers[number]?.total = total
        let pause = Duration.milliseconds(PhoneLimits.transferProgressMilliseconds)
        guard let work = transfers[number], work.told + pause <= .now,
            let (app, record) = machine.state.transfers[number], record.run == run,
            // Messages to a process that runs no code would pile up in its socket.
            let process = machine.state.apps[app]?.process, process.isRunning
        else { return }
        transfers[number]?.told = .now
        peers[process.life]?.send(PhoneMessage.transfer(withProgress(record.transfer, work)))
    }

    private func withProgress(_ transfer: Transfer, _ work: TransferWork) -> Transfer {
        var transfer = transfer
        transfer.bytes = work.bytes
        transfer.total = work.total ?? transfer.total
        return transfer
    }

    private func withProgress(_ transfers: [Transfer], of app: String) -> [Transfer] {
        let records = machine.state.transfers[app]
        return transfers.map { transfer in
            guard let record = records.first(where: { $0.request.id == transfer.id }),
                record.run != nil, let work = self.transfers[record.number]
            else { return transfer }
            return withProgress(transfer, work)
        }
    }

    func withProgress(_ status: PhoneStatus) -> PhoneStatus {
        var status = status
        for index in status.apps.indices {
            status.apps[index].transfers = withProgress(
                status.apps[index].transfers, of: status.apps[index].id)
        }
        return status
    }

    func withProgress(_ answer: AppAnswer, life: Int) -> AppAnswer {
        guard case .transfers(let transfers) = answer, let app = machine.app(of: life) else {
            return answer
        }
        return .transfers(withProgress(transfers, of: app))
    }
}
