import Foundation
import Reprise
import RepriseCore
import RepriseNIO
import ReprisePhone
import RepriseWire

/// Signals over the socket besides messages, while the app runs.
extension NoticesScenarioRunner {
    /// Ada types, with an app of her own, and throws it away; the person sees both.
    func adaTypes() async throws {
        let folder = try DemoFolder.make()
        defer { try? FileManager.default.removeItem(at: folder) }
        let token = sender.token
        let ada = try await Reprise.open(
            at: folder, server: await server.url, dialer: NIODialer(),
            identity: Identity(user: try UserID("ada")) { _ in token })
        let running = Task { try await ada.run() }
        defer { running.cancel() }
        let conversation = try ada.channel(channels[0])
        try await conversation.subscribe()
        for await state in conversation.states where state == .live { break }
        conversation.typing()
        try await isReported("typing", "\(channels[0]) ada", or: "no typing")
        conversation.stopTyping()
        try await isReported("typing", "\(channels[0]) nobody", or: "types for ever")
        running.cancel()
        await ada.close()
    }

    /// Ada has read all that there is; the person sees it.
    func adaReads() async throws {
        let seq = await book.newest(in: channels[0])
        try await sender.read(channels[0], through: seq)
        try await isReported("receipt", "\(channels[0]) ada \(seq)", or: "no receipt")
    }

    /// Ada sees that the person has read a message.
    func isKnownAsRead(_ name: String) async throws {
        guard let message = await book.message(id(name)) else { return }
        let isKnown = try await within(timeout) {
            let answer = try await sender.send(
                "GET", ["channels", message.channel, "deliveries", "\(message.seq)"])
            let members = try answer?.list("members").map { try HTTPMembers($0) } ?? []
            return members.contains {
                $0.text("user") == person && $0.text("state") == "read"
            }
        }
        if !isKnown { await book.note(.missed("not read")) }
    }

    private func isReported(_ what: String, _ detail: String, or fault: String) async throws {
        let isSeen = try await within(timeout) {
            try await log().contains { $0.what == "app.\(what)" && $0.detail == detail }
        }
        if !isSeen { await book.note(.missed(fault)) }
    }
}
