import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseWire

/// Asks the server what is unread in the conversations that this device does not follow.
///
/// It asks at each connection, when they change, and every minute; nothing where all are followed.
struct UnfollowedCounts: Sendable {
    private struct Answer: Decodable {
        struct Channel: Decodable {
            var channelId: String
            var unread: Int64
            var mentions: Int64?
            var head: Int64
        }

        var epoch: String
        var channels: [Channel]
    }

    let server: NoticeServer
    let channels: Channels
    let clock: any Timekeeper

    /// Returns when the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                while (try? await clock.sleep(for: ClientLimits.unfollowedCounts)) != nil {
                    channels.follower.mayHaveUnfollowed.raise()
                }
            }
            while !Task.isCancelled {
                await channels.follower.mayHaveUnfollowed.wait()
                // After a failure the next round asks again.
                if !Task.isCancelled { try? await count() }
            }
            group.cancelAll()
        }
    }

    private func count() async throws {
        guard try await !channels.follower.unfollowed().isEmpty,
            case .done(let body) = try await server.ask("GET", "/v1/unread")
        else { return }
        let answer = try ForeignJSON.decode(Answer.self, from: body)
        let counts = try answer.channels.map { channel -> (ChannelName, Unread) in
            let range = 0...WireLimits.greatestSequence
            guard (0...WireLimits.unreadCounted).contains(channel.unread),
                (0...WireLimits.unreadCounted).contains(channel.mentions ?? 0),
                range.contains(channel.head)
            else { throw RepriseError(.malformed, "The server's counts are out of range.") }
            let unread = Unread(
                count: channel.unread, head: channel.head, mentions: channel.mentions ?? 0)
            return (try ChannelName(channel.channelId), unread)
        }
        try await channels.follower.counted(
            Dictionary(counts) { _, last in last }, epoch: try Epoch(answer.epoch))
    }
}
