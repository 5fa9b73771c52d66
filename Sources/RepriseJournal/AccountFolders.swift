package import Foundation
package import RepriseCore

/// Where the journals of a device's accounts are, and which account is current.
///
///     HOME/
///       account.json              the signed-in user, and a log-out that is not complete yet
///       owner.lock
///       anonymous/                the journal before sign-in
///       user-…/                   one for each account
///       adopting-…/               anonymous entries, on their way into that account's journal
///       gone-…/                   to be removed
///
/// The user's part of a name is base32 (RFC 4648 §6) in small letters: safe on every file system,
/// also on a case-insensitive one, and reversible. Every step is a rename or the replacement of one
/// whole file: a kill leaves the state before or after it.
package final class AccountFolders: Sendable {
    /// The content of `account.json`.
    package struct State: Codable, Hashable, Sendable {
        package var version = 1
        /// The signed-in user; nil: nobody.
        package var user: String?
        /// The user who is being logged out.
        package var leaving: String?
        /// The final ledger of the previous account; kept until the next sign-in.
        package var final: FinalLedger?

        package init(user: String? = nil, leaving: String? = nil) {
            self.user = user
            self.leaving = leaving
        }
    }

    package let home: URL
    private let shared: URL?
    private let lock: OwnerLock

    /// Makes the folder if it is absent, and becomes its owner.
    ///
    /// - Parameters:
    ///   - home: a folder of its own.
    ///   - shared: the folder that is shared with extensions, if it is another one.
    ///   - takeOver: become the owner although another process is the owner.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned`, `.notWritable`, `.diskFull`,
    ///   `.diskFailed`.
    package init(at home: URL, shared: URL?, takeOver: Bool) throws {
        self.home = home
        self.shared = shared
        try DurableFile.makeFolder(home)
        lock = try OwnerLock(at: home.appendingPathComponent("owner.lock").path, takeOver: takeOver)
        DurableFile.sweep(home, prefixes: [DurableFile.temporaryPrefix, "owner.lock."])
        for name in try names(beginning: "gone-") { delete(home.appendingPathComponent(name)) }
        if let shared, let anonymous = self.shared(of: nil) {
            Spool(at: anonymous).take(from: Spool(at: shared))
        }
    }

    package func close() { lock.release() }

    // MARK: The signed-in user

    private static func file(in home: URL) -> String {
        home.appendingPathComponent("account.json").path
    }

    package func state() throws -> State { try Self.state(in: home) }

    private static func state(in home: URL) throws -> State {
        let state: State
        do {
            guard
                let bytes = try DurableFile.read(file(in: home), limit: JournalLimits.accountBytes)
            else {
                return State()
            }
            state = try ForeignJSON.decode(State.self, from: bytes)
        } catch let error where isOfTheFile(error) {
            throw RepriseError(
                .corrupt, "account.json cannot be read.",
                remedy: "Move it away: then nobody is signed in, and the journals stay.",
                cause: error)
        }
        guard state.version == 1 else {
            throw RepriseError(.journalNewer, "account.json is of a newer version of Reprise.")
        }
        return state
    }

    /// Excludes disk errors, which may be gone the next time.
    private static func isOfTheFile(_ error: any Error) -> Bool {
        guard let error = error as? RepriseError else { return true }
        return error.code == .tooLarge || error.code == .malformed
    }

    package func write(_ state: State) throws {
        try DurableFile.write([UInt8](try JSONEncoder().encode(state)), to: Self.file(in: home))
    }

    /// Tells extensions which part of the shared folder is current; nil: none, as before a sign-in
    /// and during a log-out.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.diskFull`, `.notWritable`, `.diskFailed`.
    package func point(to user: String?) throws {
        guard let shared else { return }
        let account = SharedAccount(in: shared)
        if let user { try account.write(Self.name(of: user)) } else { try account.remove() }
    }

    // MARK: Folders

    /// The folder of an account's journal; nil: of the anonymous one.
    package func journal(of user: String?) -> URL {
        home.appendingPathComponent(Self.name(of: user))
    }

    /// The journal that a person means who names a folder: the current account's, if it is the
    /// folder of accounts.
    package static func currentJournal(in folder: URL) -> URL {
        func holds(_ name: String) -> Bool {
            FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path)
        }
        guard !holds("journal.sqlite") else { return folder }
        let user = (try? state(in: folder))?.user
        let name = name(of: user)
        return holds("\(name)/journal.sqlite") ? folder.appendingPathComponent(name) : folder
    }

    /// Where an account's spool and mirror are, if not in its journal's folder.
    package func shared(of user: String?) -> URL? {
        shared?.appendingPathComponent(Self.name(of: user))
    }

    private static func name(of user: String?) -> String {
        user.map { "user-" + Base32.encode($0) } ?? SharedAccount.anonymous
    }

    /// The accounts that have a journal here.
    package func users() throws -> [String] {
        try names(beginning: "user-").compactMap { Base32.decode($0.dropFirst(5)) }.sorted()
    }

    /// The anonymous entries that belong to this user, if not all are in the user's journal yet.
    package func adopting(by user: String) -> URL? {
        let url = adoption(by: user)
        return exists(url) ? url : nil
    }

    private func adoption(by user: String) -> URL {
        home.appendingPathComponent("adopting-" + Base32.encode(user))
    }

    /// Assigns the anonymous journal to a user: from this moment it belongs to nobody else.
    ///
    /// - Returns: whether it had entries.
    /// - Throws: ``RepriseCore/RepriseError`` `.diskFailed`.
    package func give(to user: String) throws -> Bool {
        let anonymous = journal(of: nil)
        guard exists(anonymous) else { return false }
        try DurableFile.move(anonymous.path, to: adoption(by: user).path)
        return true
    }

    /// Removes a folder: gone at once, its bytes soon after.
    package func remove(_ url: URL) throws {
        guard exists(url) else { return }
        let gone = home.appendingPathComponent("gone-\(EntryID.random().text)")
        try DurableFile.move(url.path, to: gone.path)
        delete(gone)
    }

    /// Removes an account's journal, and its part of the shared folder.
    package func wipe(_ user: String) throws {
        if let shared = shared(of: user), exists(shared) {
            // Outside `home`, perhaps on another file system: no rename removes it at once.
            do {
                try FileManager.default.removeItem(at: shared)
            } catch {
                throw RepriseError(.diskFailed, "The shared folder stays.", cause: error)
            }
        }
        try remove(adoption(by: user))
        try remove(journal(of: user))
    }

    private func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

    /// The next opening removes the rest.
    private func delete(_ url: URL) { try? FileManager.default.removeItem(at: url) }

    private func names(beginning prefix: String) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: home.path)
                .filter { $0.hasPrefix(prefix) }
        } catch {
            throw RepriseError(.diskFailed, "The accounts cannot be listed.", cause: error)
        }
    }
}

/// A ledger in the form of `account.json`.
package struct FinalLedger: Codable, Hashable, Sendable {
    private struct Loss: Codable, Hashable {
        var channel: String
        var reason: String
        var count: Int64?
    }

    private var accepted: Int64
    private var duplicates: Int64
    private var outcomes: [String: Int64]
    private var lost: [Loss]

    package init(_ sum: LedgerSum) {
        accepted = sum.accepted
        duplicates = sum.duplicates
        outcomes = Dictionary(
            uniqueKeysWithValues: sum.outcomes.map { ($0.key.rawValue, $0.value) })
        // Bounded as the file is; the sums matter.
        lost = sum.lost.prefix(JournalLimits.accountLosses).map {
            Loss(channel: $0.channel, reason: $0.reason, count: $0.count)
        }
    }

    package var sum: LedgerSum {
        var sum = LedgerSum()
        sum.accepted = accepted
        sum.duplicates = duplicates
        for (name, count) in outcomes {
            if let outcome = Outcome(rawValue: name) { sum.outcomes[outcome] = count }
        }
        sum.lost = lost.map { .init(channel: $0.channel, reason: $0.reason, count: $0.count) }
        return sum
    }
}
