import Foundation
import RepriseChains
import RepriseCore
import RepriseNIO
import ReprisePhone
import RepriseSimulator

/// The original app of `case-task-chain`, on the same phone and with the same tasks.
///
/// `SingleValueChains` of the simulator decides: the original code, branch by branch. Its one value
/// is a real file, replaced atomically with each save, as the daemon behind `UserDefaults` does it.
/// Where the case study leaves something open, this favours the original: a task's settings are not
/// among what it saves, a task in the background runs as long as the system lets it.
actor OriginalChainsApp {
    private let host: ChainsHost
    private let value: URL
    private var machine = SingleValueChains(.repaired)
    /// Tasks that this life has finished, by chain.
    private var done: [Int: Int] = [:]

    init(host: ChainsHost) {
        self.host = host
        value = host.folder.appendingPathComponent("com.brewkits.native_workmanager.json")
    }

    private var wall: Int64 { host.timekeeper.wall().milliseconds }

    func run() async throws {
        try host.makeFiles()
        let steps = ChainsPlan.named(host.plan).steps.map(\.count)
        let marker = host.folder.appendingPathComponent("started").path
        await perform(machine.launched(with: load(), at: wall))
        if !FileManager.default.fileExists(atPath: marker) {
            for number in 0..<host.chains {
                await perform(machine.chainCreated(number, steps: steps, at: wall))
            }
            _ = FileManager.default.createFile(atPath: marker, contents: nil)
        }
        await host.report("started")
        guard let phone = host.phone else { return try await Task.sleep(for: .seconds(3_600)) }
        let life = OriginalLife { try? await Task.sleep(for: $0 * 0.6) }
        await phone.run(life: life, notifications: OriginalTaps())
    }

    /// nil: "state load fails (corrupted data)".
    private func load() -> [SingleValueChains.ChainState]? {
        guard let bytes = try? Data(contentsOf: value) else { return [] }
        return try? JSONDecoder().decode([SingleValueChains.ChainState].self, from: bytes)
    }

    private func save(_ states: [SingleValueChains.ChainState]) -> Bool {
        do {
            try JSONEncoder().encode(states).write(to: value, options: .atomic)
            return true
        } catch {
            return false
        }
    }

    private func perform(_ actions: [SingleValueChains.Action]) async {
        for action in actions {
            switch action {
            // "If save fails, logs error but doesn't crash chain execution".
            case .save(let states):
                if !save(states) { await host.report("full", "not saved") }
            case .saveNew(let states): await perform(machine.newChainSaved(save(states)))
            case .run(let task): Task { await run(task) }
            case .ended(let chain, let failed):
                let state = failed ? "failed" : "succeeded"
                await host.report("chain", "\(chain) \(state) \(done[chain] ?? 0)")
            }
        }
    }

    private func run(_ task: SingleValueChains.Task) async {
        var plan = ChainsPlan.named(host.plan).steps[task.step][task.number]
        // The original app gives a worker no key to use.
        if plan.sort == .once { plan.sort = .mark }
        let key = "\(task.chain)/\(task.step)/\(task.number)"
        do {
            _ = try await host.effects.perform(plan, chain: task.chain, key: key, attempt: 1) {
                try await effect(plan, key)
            }
            done[task.chain, default: 0] += 1
            await perform(machine.taskFinished(task, succeeded: true, at: wall))
        } catch {
            await perform(machine.taskFinished(task, succeeded: false, at: wall))
        }
    }

    private func effect(_ task: ChainsPlan.Task, _ key: String) async throws {
        switch task.sort {
        case .copy:
            let files = FileManager.default
            let copy = host.files.appendingPathComponent(task.name)
            try? files.removeItem(at: copy)
            try files.copyItem(at: host.files.appendingPathComponent("source"), to: copy)
        case .download:
            // The same worker; but nothing is kept of a step that is not complete.
            let workers = StandardWorkers(
                sandbox: Sandbox(["files": host.files]), transport: NIOTransport(),
                guard: AddressGuard(allowed: [host.serverName]))
            guard let worker = workers.all.lazy.compactMap({ $0 as? DownloadWorker }).first else {
                return
            }
            _ = try await worker.run(
                .init(url: host.server + "/film", to: SandboxPath("files", task.name)),
                WorkContext(key: key))
        case .fill:
            if host.effects.isFirst("filled") { _ = SmallDisk.fillUp(host.folder) }
        case .mark, .once, .transfer, .wait: break
        }
    }
}
