import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting

/// A system, its ports, and what a person and a server do to it.
struct PortSystem: Sendable {
    enum Kind: String, CaseIterable, Sendable { case fake, phone }

    let notifications: any UserNotifications
    let scheduler: any BackgroundScheduler
    let transfers: any TransferService
    let status: any DeviceStatus
    let network: any NetworkStatus
    let dialer: any SocketDialer
    let transport: any HTTPTransport
    /// The address of a server that answers downloads with ``content``; those of ``silent`` never.
    let server: String
    let allow: @Sendable (Bool) async throws -> Void
    let advance: @Sendable (Duration) async throws -> Void
    let setNetwork: @Sendable (Bool) async throws -> Void
    let unplug: @Sendable () async throws -> Void
    let grant: @Sendable (String) async throws -> any BackgroundSlot
    let expire: @Sendable (any BackgroundSlot) async throws -> Void

    static let tasks = ["refresh"] + (0...10).map { "work-\($0)" }
    static let content = Array("content".utf8)
    static let silent = "/silent"

    static func run(_ kind: Kind, _ body: (PortSystem) async throws -> Void) async throws {
        switch kind {
        case .fake: try await body(try fake())
        case .phone: try await phone(body)
        }
    }

    // MARK: The fakes

    private static func fake() throws -> PortSystem {
        let clock = ManualClock()
        let centre = MemoryNotifications(clock: clock, authorization: .notDetermined)
        let scheduler = MemoryScheduler(clock: clock, declared: Set(tasks))
        let transfers = try MemoryTransfers { request in
            request.url.hasSuffix(silent)
                ? nil : HTTPAnswer(status: 200, headers: [:], body: content)
        }
        let device = ManualDevice()
        let server = MemoryServer()
        return PortSystem(
            notifications: centre.connect(), scheduler: scheduler, transfers: transfers,
            status: device, network: device, dialer: device.dialer(over: server),
            transport: device.transport(over: server), server: "http://memory",
            allow: { centre.allow($0 ? .authorized : .denied) },
            advance: { clock.advance(by: $0) }, setNetwork: { device.now.network = $0 },
            unplug: { device.now.charging = false }, grant: { try scheduler.grant($0) },
            expire: { ($0 as? MemorySlot)?.expire() })
    }

    // MARK: The stand-in phone

    /// The test's process takes the place of an app that the phone has launched.
    private static func phone(_ body: (PortSystem) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let phone = try await Phone.start(
            in: folder.url.appendingPathComponent("p"),
            supervisor: Phone.Supervisor(program: .sibling("PhoneProbe"), arguments: ["phone"]))
        do {
            let file = folder.appending("names").path
            let script =
                #"echo "$REPRISE_PHONE $REPRISE_PHONE_TOKEN" > $0.new; mv $0.new $0; exec sleep 600"#
            try await phone.install(
                PhoneAppSpec(
                    id: "app", executable: "/bin/sh", arguments: ["-c", script, file],
                    backgroundTasks: tasks))
            try await phone.launch()
            try await waitUntil("it is launched") { FileManager.default.fileExists(atPath: file) }
            let words = try String(contentsOfFile: file, encoding: .utf8)
                .split(whereSeparator: \.isWhitespace).map(String.init)
            let app = try await PhoneApp.connect(to: words[0], token: words[1], whenOff: {})
            try await OddServer.run { request, answer in
                if request.target == silent { return try await answer.hold() }
                try await OddServer.honest(content)(request, answer)
            } test: { url, _, _ in
                try await serve(app, of: phone, server: url, body)
            }
        } catch {
            await phone.end()
            throw error
        }
        await phone.end()
    }

    private static func serve(
        _ app: PhoneApp, of phone: Phone, server: String, _ body: (PortSystem) async throws -> Void
    ) async throws {
        let (slots, given) = AsyncStream.makeStream(of: (any BackgroundSlot).self)
        let handlers = Idle()
        let running = Task {
            await app.run(life: handlers, notifications: handlers, tasks: { given.yield($0) })
        }
        defer { running.cancel() }
        let memory = MemoryServer()
        try await body(
            PortSystem(
                notifications: app.notifications, scheduler: app.scheduler,
                transfers: app.transfers, status: app.status, network: app.network,
                dialer: app.dialer(over: memory), transport: app.transport(over: memory),
                server: server,
                allow: { try await phone.permit($0 ? .authorized : .denied) },
                advance: { try await phone.advance(by: $0) },
                setNetwork: { try await $0 ? phone.online() : phone.offline() },
                unplug: { try await phone.unplug() },
                grant: { id in
                    try await phone.runBackground(id)
                    for await slot in slots { return slot }
                    throw CancellationError()
                },
                expire: { _ in try await phone.expireBackground() }))
    }
}

private struct Idle: AppLife, NotificationHandler {
    func background(granted: Duration) async {}
    func foreground() async {}
    func memoryPressure() async {}
    func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        [.banner, .list, .badge]
    }
    func received(_ response: NotificationResponse) async throws {}
    func receivedPush(_ info: [UInt8]) async {}
}
