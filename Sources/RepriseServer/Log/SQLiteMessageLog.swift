import Foundation
package import RepriseCore
package import RepriseWire

/// The embedded log: one SQLite database in one folder.
package final class SQLiteMessageLog: MessageLog {
    /// Opens the log in `folder`, and creates both where there is nothing yet.
    ///
    /// - Parameters:
    ///   - folder: a path.
    ///   - clock: gives messages their time.
    /// - Throws: ``RepriseError`` `.journalOwned`, `.journalNewer`, `.notAJournal`, `.corrupt`, `.notWritable`, `.diskFull`,
    ///   `.diskFailed`.
    package static func open(
        at folder: String, clock: any Timekeeper = SystemTimekeeper()
    ) throws -> SQLiteMessageLog {
        throw RepriseError(.unavailable, "Not built yet.")
    }

    package func append(_ batch: [NewMessage]) async throws -> [AppendResult] { throw notBuilt }
    package func probe() async throws { throw notBuilt }
    package func state(of channel: ChannelName) async throws -> ChannelState { throw notBuilt }
    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage { throw notBuilt }
    package func trim(_ channel: ChannelName, through: Int64) async throws -> ChannelState {
        throw notBuilt
    }
    package func trim(_ policy: RetentionPolicy, now: WallTime) async throws { throw notBuilt }
    package func close() async {}

    private var notBuilt: RepriseError { RepriseError(.unavailable, "Not built yet.") }
}
