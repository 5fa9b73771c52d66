import CourierSources
import Foundation
import Reprise
import RepriseCore
import ReprisePhone
import RepriseUI

/// What the system tells the app's screen.
struct CourierLife: AppLife {
    let screen: CourierScreen

    func foreground() async { await screen.foreground() }
    func background(granted: Duration) async { await screen.background(granted: granted) }
    func memoryPressure() async { await screen.client.memoryPressure() }
}

/// What the person sees, and does.
@MainActor
final class CourierScreen {
    private let phone: PhoneApp
    private let courier: Courier
    let client: RepriseClient
    private let browser: CourierBrowser
    // Nobody else keeps it.
    private let scenes: SceneModel
    private let scene = UUID()
    private(set) var isSeen = false

    init(phone: PhoneApp, courier: Courier, client: RepriseClient, browser: CourierBrowser) {
        self.browser = browser
        self.phone = phone
        self.courier = courier
        self.client = client
        scenes = SceneModel.of(client)
    }

    // MARK: The system

    func foreground() async {
        isSeen = true
        scenes.sceneChanged(scene, .active, canPresent: true)
        await client.foreground()
    }

    func background(granted: Duration) async {
        isSeen = false
        scenes.sceneChanged(scene, .background, canPresent: true)
        await client.background(granted: granted)
    }

    // MARK: What RootView does

    func follow() {
        let (phone, courier, client) = (phone, courier, client)
        Task { for await state in client.states { await phone.report("state", "\(state.name)") } }
        Task {
            for await all in courier.orders.lists {
                let shown = all.map {
                    ([$0.id, $0.state.rawValue] + $0.answers).joined(separator: " ")
                }
                await phone.report("orders", shown.joined(separator: ", "))
            }
        }
        Task { await followTalks() }
        Task { await followReminders() }
        Task { await followNotices() }
        Task {
            for await link in client.deepLinks {
                if let url = URL(string: link.url) { _ = try? client.open(url) }
            }
        }
        Task { await obey() }
    }

    private func followTalks() async {
        var shown = ""
        for await all in client.conversations.newest() {
            let talks = all.filter { Courier.isTalk($0.id) }
                .map { "\($0.displayName), \($0.unread) unread" }.joined(separator: "; ")
            guard talks != shown else { continue }
            shown = talks
            await phone.report("talks", talks)
        }
    }

    private func followReminders() async {
        for await tap in client.reminderTaps {
            // Reported once that is durable: then it is not shown again, whatever dies.
            try? await tap.presented()
            switch tap.resolution {
            case .active(let order, _), .superseded(let order), .paused(let order):
                await phone.report("screen", order.id)
            case .deleted, .missing, .malformed: await phone.report("screen", "no such order")
            }
        }
    }

    private func followNotices() async {
        for await tap in client.noticeTaps {
            try? await tap.presented()
            if let channel = tap.route?.id {
                if let order = Courier.order(ofChannel: channel) {
                    await phone.report("screen", order)
                }
                if Courier.isTalk(channel) { await phone.report("talk", channel) }
            }
        }
    }

    // MARK: The person

    private func order(_ id: String) -> Order { Order(id: id, customer: "bob", street: "Elm") }

    /// Does what a test writes into the file `deeds`.
    private func obey() async {
        let file = phone.folder.appendingPathComponent("deeds")
        while !Task.isCancelled {
            if let lines = try? String(contentsOf: file, encoding: .utf8) {
                try? FileManager.default.removeItem(at: file)
                await perform(lines)
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private func perform(_ deed: String) async {
        // Before the app has begun, as a button that the person presses again.
        while await !attempt(deed) { try? await Task.sleep(for: .milliseconds(20)) }
    }

    /// - Returns: whether it is over.
    private func attempt(_ deed: String) async -> Bool {
        do {
            let words = deed.split(separator: " ", maxSplits: 2).map(String.init)
            switch words[0] {
            case "signIn": try await courier.signIn(words[1])
            case "permit": try await courier.askPermission()
            case "prove": try await courier.prove(order(words[1]))
            case "deliver": try await courier.delivered(order(words[1]))
            case "mute":
                let chat = courier.chat(about: order(words[1]), client)
                try await client.notices.mute(channel: ChannelName(chat.name))
            case "see": await phone.report("form", try await browser.form())
            case "rate": try await browser.rate(words[1])
            case "say":
                try await courier.chat(in: words[1], client).publish(OrderNote(text: words[2]))
            case "note":
                let chat = courier.chat(about: order(words[1]), client)
                try await chat.publish(OrderNote(text: words[2]))
            default: throw RepriseError(.badConfiguration, "No such deed.")
            }
            await phone.report("did", deed)
        } catch let error as RepriseError where error.code == .unavailable {
            return false
        } catch {
            await phone.report("didNot", "\(deed): \(error)")
        }
        return true
    }
}

extension ClientState {
    fileprivate var name: String {
        switch self {
        case .idle: "idle"
        case .opening: "opening"
        case .waiting: "waiting"
        case .open(let user): "open \(user?.text ?? "nobody")"
        case .failed(let error): "failed \(error.code.name)"
        case .closed: "closed"
        }
    }
}
