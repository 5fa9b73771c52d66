import Reprise
import RepriseChannels
import ReprisePhone

/// Reports signals over the socket to the phone's log: `live` with a channel; `typing` with a
/// channel and who types there, or `nobody`; `receipt` with a channel, the user, and the position.
struct LiveSigns: Sendable {
    let phone: PhoneApp
    let reprise: AccountClient
    let channels: [String]

    /// Until the task is cancelled.
    func report() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in channels {
                let channel = try reprise.channel(name)
                group.addTask {
                    for await state in channel.states where state == .live {
                        await phone.report("live", name)
                    }
                }
                group.addTask {
                    for await typists in channel.typists {
                        let names = typists.map(\.text).joined(separator: " ")
                        await phone.report("typing", "\(name) \(names.isEmpty ? "nobody" : names)")
                    }
                }
                group.addTask {
                    for await positions in channel.positions {
                        for (user, position) in positions.sorted(by: { $0.key.text < $1.key.text })
                        where position.read > 0 {
                            await phone.report("receipt", "\(name) \(user.text) \(position.read)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
