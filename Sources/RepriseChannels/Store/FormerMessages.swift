import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// The journal's messages of a channel's former epochs: the id finds a message that comes again
/// under a new sequence.
struct FormerMessages {
    enum Finding {
        case unknown
        /// Received before; nil if it has left the journal since.
        case known(arrival: Int64?)
    }

    private let db: Database
    /// The server's time of the newest message that has left the journal.
    private let retired: Int64

    init(of channel: ChannelName, _ db: Database) throws {
        self.db = db
        retired =
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: "SELECT MAX(retired) FROM channelsLog WHERE channel = ?"),
                arguments: [channel.text]) ?? .min
    }

    func find(_ event: ServerFrame.Event) throws -> Finding {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT arrival FROM channelsFormer WHERE channel = ? AND id = ?"),
            arguments: [event.channel.text, event.id.text])
        if let row { return .known(arrival: try row.optionalInteger(0)) }
        // The ids of pruned messages are not kept, for they would grow for ever: the age decides
        // instead.
        return event.time.milliseconds <= retired ? .known(arrival: nil) : .unknown
    }
}
