import Foundation
import RepriseCore
import RepriseServer
import RepriseWire
import Synchronization

/// Stores messages in a few channels for ever, and says of each what was acknowledged:
/// `channel seq id`.
///
/// A line is one `write` to a pipe, so that a kill leaves whole lines only. What was submitted but
/// never acknowledged may be stored or not; what was acknowledged must be.
enum Writing {
    /// Seals `idsPerRun` ids together, and moves half as many messages; nil is as many as a server
    /// does.
    static func run(in folder: String, idsPerRun: Int?) async throws {
        var configuration = SQLiteMessageLog.Configuration()
        configuration.idsPerRun = idsPerRun ?? configuration.idsPerRun
        configuration.arrivalsPerTurn = idsPerRun.map { $0 / 2 } ?? configuration.arrivalsPerTurn
        let log = try SQLiteMessageLog.open(at: folder, configuration)
        let committer = Committer(log: log) { _ in }
        let running = Task { await committer.run() }
        say("ready\n")
        await withTaskGroup(of: Void.self) { group in
            for publisher in 0..<8 {
                group.addTask { await publish(as: publisher, to: committer) }
            }
        }
        await running.value
    }

    private static func publish(as publisher: Int, to committer: Committer) async {
        guard let channel = try? ChannelName("channel-\(publisher % 3)") else { return }
        while true {
            let batch = (0..<Int.random(in: 1...20)).map { _ in
                NewMessage(channel: channel, id: .random(), body: Array(#"{"n":1}"#.utf8))
            }
            // What failed is not known to be stored; the parent is told nothing and the next batch
            // goes on.
            guard let results = try? await committer.commit(batch) else { continue }
            for (message, result) in zip(batch, results) {
                guard case .stored(let event) = result else { continue }
                say("\(channel) \(event.seq) \(message.id)\n")
            }
        }
    }

    static func say(_ line: String) {
        let bytes = Array(line.utf8)
        guard write(1, bytes, bytes.count) == bytes.count else { exit(0) }
    }
}
