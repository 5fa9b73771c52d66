import Reprise
import RepriseCore
import ReprisePhone

/// Runs all until one of them ends, by itself or by an error, and cancels the others.
func untilOneEnds(_ works: @Sendable () async throws -> Void...) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for work in works { group.addTask { try await work() } }
        try await group.next()
        group.cancelAll()
    }
}

/// Does the work for all of these at the same time, and returns when each has ended.
func untilAllEnd<Item: Sendable>(
    _ items: [Item], _ work: @escaping @Sendable (Item) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for item in items { group.addTask { try await work(item) } }
        try await group.waitForAll()
    }
}

/// Records taps, and reports each; the system's completion handler is called when that is durable.
struct RecordedTaps: NotificationHandler {
    let phone: PhoneApp
    let record: @Sendable (NotificationResponse) async throws -> Void

    func received(_ response: NotificationResponse) async {
        await phone.report("created", response.tapID.text)
        do {
            try await record(response)
            await phone.report("recorded", response.tapID.text)
        } catch {
            await phone.report("failed", "\(error)")
        }
    }

    func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        [.banner, .list]
    }

    func receivedPush(_ info: [UInt8]) async {}
}

/// The taps of an original app, which takes no pushes; without a closure it has no notifications.
struct OriginalTaps: NotificationHandler {
    var presents: PresentationOptions = []
    var tapped: @Sendable (NotificationResponse) async -> Void = { _ in }

    func received(_ response: NotificationResponse) async { await tapped(response) }
    func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        presents
    }
    func receivedPush(_ info: [UInt8]) async {}
}

/// An original app in the background: what it does there ends when it is seen again.
actor OriginalLife: AppLife {
    private let stays: @Sendable (Duration) async -> Void
    private let opened: @Sendable () async -> Void
    private var rest: Task<Void, Never>?

    /// - Parameters:
    ///   - stays: of the time that is granted it returns after as much as the app uses.
    ///   - opened: called when it is seen again.
    init(
        stays: @escaping @Sendable (Duration) async -> Void = { _ in },
        opened: @escaping @Sendable () async -> Void = {}
    ) {
        (self.stays, self.opened) = (stays, opened)
    }

    func background(granted: Duration) async {
        let rest = Task { [stays] in await stays(granted) }
        self.rest = rest
        await rest.value
    }

    func foreground() async {
        rest?.cancel()
        await opened()
    }

    func memoryPressure() async {}
}

/// An app with a screen, which is there in the foreground alone.
struct ScreenLife: AppLife {
    let reprise: AccountClient
    var closes: @Sendable () async -> Void = {}

    func foreground() async {
        let rest = reprise.enter(.foreground)
        await reprise.setReady(.ui)
        await rest()
    }

    func background(granted: Duration) async {
        let rest = reprise.enter(.background(granted: granted))
        await reprise.setNotReady(.ui)
        await closes()
        await rest()
    }

    func memoryPressure() async { await reprise.memoryPressure() }
}
