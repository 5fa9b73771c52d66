import Foundation
import RepriseCore
import ReprisePhone

/// Reports each thing that the system does; its habits are its arguments.
struct Probe: Sendable {
    /// `--holds` never returns from a response, `--overruns` never from the background, `--crashes`
    /// reports 500 times after its launch and ends, `--beats` reports all the time, `--hangs` never
    /// completes a task, `--silent` never answers `willPresent`.
    let habits: Set<String>

    func run() async throws {
        let phone = try await PhoneApp.connect()
        await phone.report("launch", "\(phone.launch.reason)")
        if let response = phone.launch.response {
            await phone.report("scene", response.tapID.text)
        }
        if habits.contains("--crashes") {
            // At once, so that the phone still has much to read when it ends.
            await withTaskGroup(of: Void.self) { reports in
                for number in 1...500 {
                    reports.addTask { await phone.report("last", "\(number)") }
                }
            }
            exit(7)
        }
        if habits.contains("--beats") {
            Task {
                while true {
                    await phone.report("beat")
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
        }
        Task {
            for await path in phone.network.paths { await phone.report("path", "\(path.isUsable)") }
        }
        Task {
            for await now in phone.status.conditions {
                await phone.report(
                    "conditions",
                    "network \(now.network), unmetered \(now.unmetered), charging \(now.charging)")
            }
        }
        let changes = phone.transfers.changes
        Task {
            for await transfer in changes {
                await phone.report(
                    transfer.state == .running ? "transferMoves" : "transferChanged",
                    "\(transfer.id) \(transfer.state.word)")
            }
        }
        await play(try script(of: phone), on: phone)
        let handler = ProbeHandler(phone: phone, habits: habits)
        await phone.run(
            life: handler, notifications: handler,
            scene: { await phone.report("scene", $0.tapID.text) },
            webViewCrash: { await phone.report("crashWebView") },
            transfersDone: {
                await phone.report("transfersDone", (try? await transfers(of: phone)) ?? "error")
            },
            tasks: { await task($0, on: phone) })
    }

    /// What a test has put into the app's folder: calls to make after each launch.
    private func script(of phone: PhoneApp) throws -> [AppCall] {
        let file = phone.folder.appendingPathComponent("script.json")
        guard let data = FileManager.default.contents(atPath: file.path) else { return [] }
        return try JSONDecoder().decode([AppCall].self, from: data)
    }

    private func play(_ calls: [AppCall], on phone: PhoneApp) async {
        for call in calls {
            do {
                await phone.report("called", try await make(call, on: phone))
            } catch let error as RepriseError {
                await phone.report("refused", error.code.name)
            } catch {
                await phone.report("refused", "\(error)")
            }
        }
    }

    private func make(_ call: AppCall, on phone: PhoneApp) async throws -> String {
        let centre = phone.notifications
        switch call {
        case .settings: return try await centre.settings().authorization.rawValue
        case .requestAuthorization(let provisional):
            return "\(try await centre.requestAuthorization(provisional: provisional))"
        case .add(let request): try await centre.add(request)
        case .pending: return try await centre.pending().map(\.id).joined(separator: " ")
        case .delivered:
            return try await centre.delivered().map(\.request.id).joined(separator: " ")
        case .removePending(let ids): try await centre.removePending(ids)
        case .removeDelivered(let ids): try await centre.removeDelivered(ids)
        case .setBadge(let count): try await centre.setBadge(count)
        case .setCategories(let categories): try await centre.setCategories(categories)
        case .submit(let request): try await phone.scheduler.submit(request)
        case .cancel(let id): try await phone.scheduler.cancel(id)
        case .register(let id): try await phone.register(id)
        case .tasks: return try await phone.scheduler.pending().map(\.id).joined(separator: " ")
        case .startTransfer(let request): try await phone.transfers.start(request)
        case .transfers: return try await transfers(of: phone)
        case .cancelTransfer(let id): try await phone.transfers.cancel(id)
        case .forgetTransfer(let id): try await phone.transfers.forget(id)
        case .complete: break
        case .browser: return try await phone.browser()
        }
        return "done"
    }

    private func transfers(of phone: PhoneApp) async throws -> String {
        try await phone.transfers.transfers().map { "\($0.id) \($0.state.word) \($0.bytes)" }
            .joined(separator: ", ")
    }

    private func task(_ slot: any BackgroundSlot, on phone: PhoneApp) async {
        await phone.report("task", slot.id)
        if habits.contains("--hangs") {
            await slot.expired()
            await phone.report("taskExpired", slot.id)
            return
        }
        await slot.complete(success: true)
        await slot.complete(success: false)
    }
}

/// What the system tells the probe.
struct ProbeHandler: AppLife, NotificationHandler {
    let phone: PhoneApp
    let habits: Set<String>

    func background(granted: Duration) async {
        await phone.report("background", "\(granted.milliseconds)")
        if habits.contains("--overruns") { await forever() }
    }

    func foreground() async { await phone.report("foreground") }
    func memoryPressure() async { await phone.report("memoryPressure") }

    func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        await phone.report("willPresent", notification.request.id)
        if habits.contains("--silent") { await forever() }
        return [.banner, .list, .badge]
    }

    func received(_ response: NotificationResponse) async {
        await phone.report("received", response.tapID.text)
        if habits.contains("--holds") { await forever() }
        // On the disk first: what a test finds there is not the phone's word.
        let file = phone.folder.appendingPathComponent("taps")
        let before = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        try? (before + response.tapID.text + "\n").write(
            to: file, atomically: true, encoding: .utf8)
        await phone.report("recorded", response.tapID.text)
    }

    func receivedPush(_ info: [UInt8]) async {
        await phone.report("push", String(decoding: info, as: UTF8.self))
    }

    private func forever() async {
        while true { try? await Task.sleep(for: .seconds(1_000)) }
    }
}
