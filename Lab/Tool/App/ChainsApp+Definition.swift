import RepriseChains
import RepriseCore

extension ChainsApp {
    /// The definition.
    ///
    /// Its tasks are those of the plan that the input names. Version 3 declares compatibility with
    /// version 1.
    var definition: Chain<Input> {
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
            let compensation = ChainsPlan.Task(name: "undo-\(task.name)", milliseconds: 300)
            return Mark.Input(task: compensation, chain: chain)
        }
    }
}
