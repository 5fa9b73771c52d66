import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseNIO
import ReprisePhone

/// An app on a phone: a chain whose download the phone makes, and a task after it.
///
/// Reports `chain STATE` when it has ended.
struct PhoneDownload {
    let url: String
    let host: String
    let sha256: String

    private var chain: Chain<Int> {
        Chain<Int>("film") { [url, sha256] _ in
            let file = SandboxPath("home", "film")
            Work("fetch", TransferWorker.self) { _ in
                .init(.download(to: file), url: url, sha256: sha256)
            }
            Work("hash", HashFileWorker.self) { _ in .init(file) }
        }
    }

    func run() async throws {
        let phone = try await PhoneApp.connect()
        var configuration = Chains.Configuration()
        configuration.chains = [chain]
        configuration.workers =
            StandardWorkers(
                sandbox: Sandbox(["home": phone.folder]), transport: NIOTransport(),
                guard: AddressGuard(allowed: [host]), transfers: phone.transfers
            ).all
        let journal = try await Journal.open(
            at: phone.folder.appendingPathComponent("journal"), kinds: Chains.kinds(configuration),
            schemas: [Chains.schema])
        let chains = Chains(journal: journal, configuration: configuration)
        var id = try await chains.list().first?.id
        if id == nil { id = try await chains.start(chain, input: 1) }
        guard let id else { exit(70) }
        let done = Task {
            for await progress in chains.progress(of: id) where progress.state.isEnd {
                await phone.report("chain", "\(progress.state)")
            }
        }
        let running = Task {
            try await chains.run(conditions: phone.status, scheduler: phone.scheduler)
        }
        await phone.run(
            life: chains, notifications: Deaf(), transfersDone: { await done.value },
            tasks: { await chains.slot($0) })
        try await running.value
    }
}

/// No notification is of interest.
private struct Deaf: NotificationHandler {
    func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions { [] }
    func received(_ response: NotificationResponse) async {}
    func receivedPush(_ info: [UInt8]) async {}
}
