import Foundation
import RepriseCore
import RepriseWire

/// What stands in the entries that an operator has skipped: it was answered as unknown, and sent
/// again it would stop the cluster again.
actor SkippedCommands {
    private let journal: any ClusterJournal
    /// The bytes of the entries; empty for one that the journal has no more.
    private var known: [SkippedEntry: Data] = [:]
    /// Those that are being read: once for all who ask meanwhile.
    private var readings: [SkippedEntry: Task<Data, any Error>] = [:]

    init(_ journal: any ClusterJournal) { self.journal = journal }

    /// Whether anything is skipped.
    nonisolated var isEmpty: Bool { journal.skipped.isEmpty }

    static let refusal = RepriseError(
        .refused, "No server of the cluster could do this, and its operator has it skipped.")

    private static let unread = RepriseError(
        .unavailable, "The journal is not reached, and the entries that are skipped are not read.",
        remedy: "Send it again.")

    /// Whether a message was in one of them.
    ///
    /// - Throws: where one must be read first and cannot be: ``RepriseCore/RepriseError``
    ///   `.unavailable`, at once while the journal is not connected.
    func has(_ message: NewMessage) async throws -> Bool {
        var writer = BinaryWriter()
        writer.write(message.channel.text)
        writer.write(message.id.text)
        return try await has(writer.bytes)
    }

    /// Whether a change of accounts, or a device's hello, was in one of them.
    ///
    /// - Throws: as for a message.
    func has(_ command: ClusterCommand) async throws -> Bool {
        switch command {
        case .account, .hello: try await has(command.bytes)
        case .nop, .session, .publish, .trim, .lease, .beginPushing, .pushed, .mark, .hashed,
            .checked, .stuck, .forgetIDs, .rules:
            false
        }
    }

    /// The entries are not decoded: one may have ended every process that did.
    private func has(_ bytes: [UInt8]) async throws -> Bool {
        let pattern = Data(bytes)
        for entry in journal.skipped {
            if try await content(of: entry).range(of: pattern) != nil { return true }
        }
        return false
    }

    private func content(of entry: SkippedEntry) async throws -> Data {
        if let content = known[entry] { return content }
        if let reading = readings[entry] { return try await reading.value }
        let reading = Task {
            defer { readings[entry] = nil }
            let content = try await read(entry)
            known[entry] = content
            return content
        }
        readings[entry] = reading
        return try await reading.value
    }

    private func read(_ entry: SkippedEntry) async throws -> Data {
        // A reading waits for its answer, and the journal's other readings for it.
        guard journal.connectionNumber != nil else { throw Self.unread }
        let found = try await journal.read(after: entry.sequence - 1)
        let stored = found.entries.first.flatMap { entry.isEntry($0) ? $0.bytes : nil }
        return Data(stored ?? [])
    }
}
