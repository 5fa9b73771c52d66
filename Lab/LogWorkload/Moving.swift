import Foundation
import RepriseCore
import RepriseServer
import RepriseWire

/// Moves positions of several users for ever, and says of each move that it is durable:
/// `user read`.
enum Moving {
    static func run(in folder: String) async throws {
        let accounts = try Accounts.open(at: folder, implicitChannels: true, heads: { _ in .max })
        let channel = try ChannelName("room")
        Writing.say("ready\n")
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { await move(as: "user-\(number)", in: channel, accounts) }
            }
        }
    }

    private static func move(as name: String, in channel: ChannelName, _ accounts: Accounts) async {
        guard let user = try? UserID(name),
            var read = try? await accounts.positions(of: channel, first: user, limit: 1).first?.read
        else { return }
        while true {
            read += 1
            let move = MovePosition(channel: channel, user: user, device: nil, read: read)
            guard let position = try? await accounts.move(move) else { continue }
            Writing.say("\(user) \(position.read)\n")
        }
    }
}
