import Foundation
import Reprise
import RepriseChains
import RepriseCore
import RepriseNIO
import ReprisePhone

/// An app as an engineer writes it with Reprise; beside that it reports what it does to the phone's
/// log.
struct ChainsApp: Sendable {
    /// The input of a chain of the demo.
    struct Input: Codable, Sendable {
        var plan: String
        var number: Int
    }

    /// Chains of which each step is reported.
    private static let watched = 20

    let host: ChainsHost
    let takesOver: Bool

    func run() async throws {
        try host.makeFiles()
        let definition = definition
        let room = JournalCapacity()
        let reprise = try await AccountClient.open(
            at: host.folder, server: "http://127.0.0.1:1", dialer: NIODialer(),
            configuration: configuration(definition, room))
        room.journal.update { $0 = reprise.journal }
        await host.report("journal")
        guard let chains = reprise.chains else { return }
        try await start(definition, chains)
        await host.report("started")
        let (phone, host) = (host.phone, host)
        // Until all have ended, for a process without a phone; or the journal is another one's.
        try await untilOneEnds(
            { try await chains.run(conditions: phone?.status, scheduler: phone?.scheduler) },
            { await Self.watch(chains, host) },
            {
                guard let phone else { return try await Task.sleep(for: .seconds(3_600)) }
                await phone.run(
                    life: reprise, notifications: OriginalTaps(),
                    // Until the chains that waited for the transfers are idle.
                    transfersDone: { await chains.background(granted: .seconds(20)) },
                    tasks: { await chains.slot($0) })
            })
    }

    private func start(_ chain: Chain<Input>, _ chains: Chains) async throws {
        if try await chains.list(limit: 1).isEmpty {
            let (plan, count, partitionKeys) = (host.plan, host.chains, min(50, host.chains))
            try await untilAllEnd(Array(0..<partitionKeys)) { partitionKey in
                for number in stride(from: partitionKey, to: count, by: partitionKeys) {
                    try await chains.start(
                        chain, input: Input(plan: plan, number: number), name: "c\(number)")
                }
            }
        }
        if let then = host.then {
            try await chains.start(chain, input: Input(plan: then, number: host.chains))
        }
    }

    /// Reports how the chains are, as an app would show it.
    private static func watch(_ chains: Chains, _ host: ChainsHost) async {
        guard host.plan != "waiting", let all = try? await chains.list(limit: 1_000) else {
            try? await Task.sleep(for: .seconds(3_600))
            return
        }
        await withTaskGroup(of: Void.self) { group in
            for status in all {
                group.addTask {
                    var last = ""
                    for await progress in chains.progress(of: status.id) {
                        let isWatched = progress.total <= watched || progress.state.isEnd
                        let name = (status.name ?? "c?").dropFirst()
                        let news = "\(name) \(progress.state) \(isWatched ? progress.done : 0)"
                        if news != last { await host.report("chain", news) }
                        last = news
                    }
                }
            }
        }
        if host.phone != nil { try? await Task.sleep(for: .seconds(3_600)) }
    }

    private func configuration(
        _ definition: Chain<Input>, _ room: JournalCapacity
    ) -> AccountClient.Configuration {
        let standard = StandardWorkers(
            sandbox: Sandbox(["files": host.files]), transport: NIOTransport(),
            guard: AddressGuard(allowed: [host.serverName]), transfers: host.phone?.transfers)
        var chains = Chains.Configuration()
        chains.timekeeper = host.timekeeper
        chains.chains = [definition]
        chains.workers = standard.all + [Mark(effects: host.effects), Fill(host: host, room: room)]
        for worker in standard.all {
            switch worker {
            case let copy as CopyFileWorker:
                chains.workers.append(SeenWorker(worker: copy, effects: host.effects))
            case let download as DownloadWorker:
                chains.workers.append(SeenWorker(worker: download, effects: host.effects))
            default: break
            }
        }
        if host.phone == nil { chains.workers.append(NoTransfers()) }
        var configuration = AccountClient.Configuration()
        configuration.chains = chains
        configuration.journal.timekeeper = host.timekeeper
        configuration.journal.takeOver = takesOver
        configuration.journal.busyTimeout = .milliseconds(500)
        return configuration
    }
}

/// Leaves its line in the file of effects.
struct Mark: Worker {
    struct Input: Codable, Sendable {
        var task: ChainsPlan.Task
        var chain: Int
        var read: Int?
    }

    static let identifier = "demo.mark"
    let effects: ChainsEffects

    func run(_ input: Input, _ work: WorkContext) async throws -> String {
        try await effects.perform(
            input.task, chain: input.chain, key: work.key, attempt: work.attempt)
    }
}

/// A built-in worker that is seen: it leaves a line when its effect has taken place.
struct SeenWorker<W: Worker>: Worker {
    struct Input: Codable, Sendable {
        var task: ChainsPlan.Task
        var chain: Int
        var inner: W.Input
    }

    static var identifier: String { "demo.seen." + W.identifier }
    let worker: W
    let effects: ChainsEffects

    func run(_ input: Input, _ work: WorkContext) async throws -> String {
        try await effects.perform(
            input.task, chain: input.chain, key: work.key, attempt: work.attempt
        ) { _ = try await worker.run(input.inner, work) }
    }
}

/// Replaces the phone's transfers in a process without a phone.
private struct NoTransfers: Worker {
    static let identifier = TransferWorker.identifier

    func run(_ input: TransferWorker.Input, _ work: WorkContext) async throws -> Int {
        throw DispatchFailure.permanent("There is no phone.")
    }
}

extension ChainsApp {
    /// The definition.
    ///
    /// Its tasks are those of the plan that the input names. Version 3 declares compatibility with
    /// version 1.
    private var definition: Chain<Input> {
        let (server, version) = (host.server, host.version)
        return Chain<Input>(
            "demo", version: version, compatibleWith: version == 3 ? [1] : []
        ) { input in
            for step in ChainsPlan.named(input.plan, version: version).steps {
                Parallel {
                    for task in step {
                        switch task.sort {
                        case .mark, .once: Self.mark(task, input.number)
                        case .fill: Self.fill(task, input.number)
                        case .copy: Self.copy(task, input.number)
                        case .download: Self.download(task, input.number, server)
                        case .transfer: Self.transfer(task, server)
                        case .wait: WaitFor(for: .session, name: task.name)
                        }
                    }
                }
            }
        }
    }

    private static func copy(_ task: ChainsPlan.Task, _ chain: Int) -> Work<
        SeenWorker<CopyFileWorker>
    > {
        Work(task.name, SeenWorker<CopyFileWorker>.self) { _ in
            SeenWorker<CopyFileWorker>.Input(
                task: task, chain: chain,
                inner: CopyFileWorker.Input(
                    SandboxPath("files", "source"), to: SandboxPath("files", task.name)))
        }
    }

    private static func download(
        _ task: ChainsPlan.Task, _ chain: Int, _ server: String
    ) -> Work<SeenWorker<DownloadWorker>> {
        Work(task.name, SeenWorker<DownloadWorker>.self) { _ in
            SeenWorker<DownloadWorker>.Input(
                task: task, chain: chain,
                inner: DownloadWorker.Input(
                    url: server + "/film", to: SandboxPath("files", task.name)))
        }
    }

    private static func fill(_ task: ChainsPlan.Task, _ chain: Int) -> Work<Fill> {
        Work(task.name, Fill.self) { _ in Mark.Input(task: task, chain: chain) }
            .retry(attempts: 3, Backoff(base: .milliseconds(50), longest: .milliseconds(200)))
    }

    private static func transfer(_ task: ChainsPlan.Task, _ server: String) -> Work<TransferWorker>
    {
        Work(task.name, TransferWorker.self) { _ in
            TransferWorker.Input(
                .download(to: SandboxPath("files", task.name)), url: server + "/transfer")
        }
    }

    private static func mark(_ task: ChainsPlan.Task, _ chain: Int) -> Work<Mark> {
        let work = Work(task.name, Mark.self) { done in
            guard let name = task.reads else { return Mark.Input(task: task, chain: chain) }
            let before = Work(name, Mark.self) { _ in Mark.Input(task: task, chain: chain) }
            return Mark.Input(task: task, chain: chain, read: try done[before].utf8.count)
        }
        .retry(attempts: 3, Backoff(base: .milliseconds(50), longest: .milliseconds(200)))
        guard task.hasCompensation else { return work }
        return work.compensation(with: Mark.self) { _ in
            let compensation = ChainsPlan.Task(
                name: "undo-\(task.name)", milliseconds: 300, holds: task.compensationHolds)
            return Mark.Input(task: compensation, chain: chain)
        }
    }
}
