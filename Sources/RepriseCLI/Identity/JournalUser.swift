import Foundation
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseJournal
import RepriseWire

/// The user of a journal.
enum JournalUser {
    /// Refuses a journal of another user: its messages and read positions would be mixed up.
    ///
    /// - Parameters:
    ///   - user: the current user; nil: anonymous.
    ///   - reprise: the client over the journal, before it runs.
    ///   - folder: of the journal.
    /// - Throws: ``CommandFailure`` `.badInput`; ``RepriseError`` `.corrupt` where the device's row
    ///   cannot be read.
    static func expect(_ user: UserID?, in reprise: AccountClient, at folder: String) async throws {
        let owner: UserID?
        do {
            owner = try await reprise.journal.read { db in
                _ = try ChannelStore.device(db)
                return try ChannelReading.user(db)
            }
        } catch let error as RepriseError {
            throw error.named(asRowOf: URL(fileURLWithPath: folder))
        }
        guard let user, let owner, user != owner else { return }
        throw CommandFailure(
            .badInput,
            "The journal in \(folder) is of the user \(owner), not of \(user). Name another folder for "
                + "\(user), or go on as \(owner).".printable)
    }
}
