import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseWire

/// The journals of a device's accounts in their folders: opening them, and the steps of a change
/// that a kill may interrupt.
///
/// Each step is idempotent.
struct AccountJournals: Sendable {
    let folders: AccountFolders
    let configuration: AccountClient.Configuration

    /// Opens a user's journal, or the anonymous one.
    func open(of user: UserID?) async throws -> Journal {
        try await AccountClient.openJournal(
            at: folders.journal(of: user?.text), settings(shared: folders.shared(of: user?.text)))
    }

    /// Each account has a folder of its own in a shared folder.
    private func settings(shared: URL?) -> AccountClient.Configuration {
        var settings = configuration
        settings.journal.sharedFolder = shared
        return settings
    }

    /// Moves the entries recorded before sign-in into the user's journal.
    func adopt(by user: UserID, into journal: Journal) async throws {
        guard let folder = folders.adopting(by: user.text) else { return }
        let source = try await AccountClient.openJournal(
            at: folder, settings(shared: folders.shared(of: nil)))
        do {
            _ = try await journal.adopt(from: source)
        } catch {
            await source.close()
            throw error
        }
        await source.close()
        try folders.remove(folder)
    }

    /// Ends the user's unsent entries, and removes the journal: the steps after the irreversible
    /// one.
    ///
    /// - Returns: the outcomes of everything that it had accepted; nil if its rows cannot be read:
    ///   the journal is removed all the same, because each later try would fail, too.
    func finishLeaving(_ user: String) async throws -> LedgerSum? {
        var state = try folders.state()
        if state.final == nil {
            let id = try UserID(user)
            let journal = try await open(of: id)
            do {
                try await adopt(by: id, into: journal)
                state.final = try await end(journal).map(FinalLedger.init)
            } catch {
                await journal.close()
                throw error
            }
            await journal.close()
            try folders.write(state)
        }
        try folders.wipe(user)
        state.leaving = nil
        try folders.write(state)
        return state.final?.sum
    }

    private func end(_ journal: Journal) async throws -> LedgerSum? {
        do {
            if let chains = configuration.chains { try await Chains.leave(journal, chains) }
            return try await journal.endAll(reason: "loggedOut")
        } catch let error as RepriseError where error.code == .corrupt {
            return nil
        }
    }
}
