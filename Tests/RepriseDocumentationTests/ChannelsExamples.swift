import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseTesting

extension Stage {
    func readme() async throws {

        let reprise = try await Reprise.open(
            at: folder, server: "https://example.org", dialer: dialer)
        let general = try reprise.channel("general")

        try await general.read("inbox") { message in  // again after a crash, until it returns
            try await store.save(message.body, id: message.id)
        }
        try await general.publish(#""hello""#)  // recorded first, sent when it can be
        try await reprise.run()  // connects, catches up, stays live
    }

    func accounts() async throws {
        let home = try await RepriseAccounts.open(
            at: folder, server: "https://chat.example.org", dialer: dialer,
            tokens: { request in
                try AccessToken(
                    try await backend.token(for: request.user, fresh: request.reason != .first))
            },
            prepare: { reprise in
                let general = try reprise.channel("general")
                try await general.read("inbox") { message in await screen.show(message) }
            })
        let running = Task { try await home.run() }
        try await signing(home)
        running.cancel()
    }

    private func signing(_ home: RepriseAccounts) async throws {
        let reprise = try await home.signIn(as: UserID("ada"))
        try await stopped(home, reprise)
        let ledger = try await home.signOut()
        print("\(ledger.outcomes[.dead] ?? 0) were not sent")
    }

    private func stopped(_ home: RepriseAccounts, _ reprise: Reprise) async throws {
        for await state in reprise.channels.connectionStates {
            guard case .stopped(let reason) = state else { continue }
            await screen.askToSignIn(because: reason.description)
            try await home.signIn(as: UserID("ada"))
        }
    }

    func lifecycle(_ reprise: Reprise) async {
        await reprise.background(granted: .seconds(25))
        // Everything is closed and durable: the app may be suspended.
        await reprise.foreground()
    }

    func network() async throws {
        var configuration = Reprise.Configuration()
        configuration.channels.network = network
        _ = try await Reprise.open(
            at: folder, server: server, dialer: dialer, configuration: configuration)
    }

    func reading(_ general: Channel) async throws {
        try await general.read("inbox") { message in
            switch message.change {
            case nil: try await store.add(message.id, message.json)
            case .edits(let sequence): try await store.replace(sequence, with: message.json)
            case .deletes(let sequence): try await store.remove(sequence)
            }
        }
        try await general.read("balance", options: ReaderOptions(order: .ordered)) { message in
            try await store.apply(message.seq, message.json)
        }
    }

    func lists(_ general: Channel, show: ([ChannelMessage]) async -> Void) async throws {
        for await messages in general.observe(last: 50) {
            await show(messages)
        }
        let newest = try await general.messages(limit: 50)
        let older = try await general.messages(before: newest.first?.seq, limit: 50)
        await show(newest + older)
        try await general.appeared()
        await general.disappeared()
    }

    func lost(_ general: Channel) async {
        await general.onSnapshot { request in
            let state = try await api.state(of: request.channel)
            try await store.replaceAll(with: state, at: request.position)
        }
        let insight = await general.insight
        print(insight.state, insight.missing, insight.rate, insight.duplicates)
    }

    func testing() throws {
        let server = MemoryServer()
        try server.fill("general", with: 200)
        server.faults.order = .streams(4, seed: 7)
        server.faults.closesAfter = 120
    }

    func sending(_ reprise: Reprise) async throws {
        let general = try reprise.channel("general")
        let id = try await general.publish(#"{"text":"hello"}"#)  // durable here when it returns
        try await general.edit(id, #"{"text":"hello, all"}"#)  // behind it, in the same order
        try await general.delete(id)  // never sent: gone at once; else a deletion follows
        for letter in try await general.outbox.deadLetters() {
            print(letter.json, letter.code ?? "", letter.reason)
            try await general.outbox.retry(letter.id)  // the same id, with all its attempts
            // or: try await general.outbox.withdraw(letter.id)
        }
    }

    func receipts(
        _ general: Channel, seq: Int64, show: ([UserID: ServerFrame.Position]) -> Void
    ) async throws {
        var badge: Int64 = 0
        try await general.markRead(through: seq)  // durable; told to the server when it can be
        for await unread in general.unread { badge = unread.count }
        for await positions in general.positions { show(positions) }
        print(badge)
    }

    func typing(_ general: Channel, show: ([UserID]) -> Void) async {
        general.typing()  // at each key
        for await users in general.typists { show(users) }
    }
}
