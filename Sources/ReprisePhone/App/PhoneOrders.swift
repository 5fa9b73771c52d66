import Foundation
import RepriseApple
import RepriseCore

/// Performs the system's orders by the app's handlers.
struct PhoneOrders: Sendable {
    let link: PhoneLink
    let life: any AppLife
    let notifications: any NotificationHandler
    let scene: @Sendable (NotificationResponse) async -> Void
    let webViewCrash: @Sendable () async -> Void
    let transfersDone: @Sendable () async -> Void
    let tasks: @Sendable (any BackgroundSlot) async -> Void

    func run() async {
        var slots: [Int: PhoneSlot] = [:]
        await withDiscardingTaskGroup { group in
            for await (id, order) in link.orders {
                if case .slot(let number, let task, _) = order {
                    slots[number] = PhoneSlot(number: number, id: task, link: link)
                }
                if case .slotExpired(let number) = order {
                    slots.removeValue(forKey: number)?.expire()
                }
                let slot =
                    if case .slot(let number, _, _) = order { slots[number] } else {
                        nil as PhoneSlot?
                    }
                let work = { @Sendable in
                    let options = await perform(order, slot)
                    await link.say(.returned(order: id, options: options))
                }
                await Self.begin(work, in: &group)
            }
            group.cancelAll()
        }
    }

    /// Begins handlers in the order of their events.
    private static func begin(
        _ work: @escaping @Sendable () async -> Void, in group: inout DiscardingTaskGroup
    ) async {
        if #available(macOS 26, iOS 26, *) {
            group.addImmediateTask { await work() }
        } else {
            await withCheckedContinuation { begun in
                group.addTask {
                    begun.resume()
                    await work()
                }
            }
        }
    }

    private func perform(_ order: AppOrder, _ slot: PhoneSlot?) async -> PresentationOptions? {
        switch order {
        case .foreground:
            link.windows.activated()
            await life.foreground()
            link.windows.becameKey()
        case .background(let remaining):
            link.windows.enteredBackground()
            await life.background(granted: BackgroundTime.granted(remaining: remaining))
        case .backgroundExpires: await expire()
        case .memoryPressure: await life.memoryPressure()
        case .received(let response): await notifications.told(of: response)
        case .scene(let response): await scene(response)
        case .willPresent(let notification): return await notifications.willPresent(notification)
        case .push(let info): await notifications.receivedPush(info)
        case .slot: if let slot { await tasks(slot) }
        case .crashWebView: await webViewCrash()
        case .transfersDone:
            for await _ in link.transferEnds.handlerArrived() {}
            await transfersDone()
        case .transferEventsEnded: link.transferEnds.eventsEnded()
        case .slotExpired, .late: break
        }
        return nil
    }

    /// The expiration handler, as in `SystemAppLife`: the client is told, and the task ended a
    /// second later at the latest.
    private func expire() async {
        let closed = Race<Void>()
        Task {
            await life.background(granted: .zero)
            closed.end(.success(()))
        }
        let timer = Task {
            try await Task.sleep(for: BackgroundTime.closing)
            closed.end(.success(()))
        }
        try? await closed.value()
        timer.cancel()
    }
}

/// Time that the phone gives for a task.
final class PhoneSlot: BackgroundSlot {
    let id: String
    private let number: Int
    private let link: PhoneLink
    private let expiry: AsyncStream<Void>
    private let expiration: AsyncStream<Void>.Continuation

    init(number: Int, id: String, link: PhoneLink) {
        self.number = number
        self.id = id
        self.link = link
        (expiry, expiration) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Returns to a task that is cancelled, too, as the adapter of Apple's scheduler does.
    func expired() async { for await _ in expiry {} }

    func complete(success: Bool) async {
        expire()  // Nobody waits any longer; the phone passes a second completion over.
        _ = try? await link.ask(.complete(slot: number, success: success))
    }

    func expire() { expiration.finish() }
}

extension NotificationHandler {
    /// Logs a failed record in the phone; the system does not repeat the call.
    func told(of response: NotificationResponse) async {
        do {
            try await received(response)
        } catch {
            let text = "The response \(response.tapID) could not be recorded: \(error)\n"
            FileHandle.standardError.write(Data(text.utf8))
        }
    }
}
