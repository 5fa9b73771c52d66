import Foundation
import RepriseCore
import RepriseWire

/// What stands in the entries that an operator has skipped: it was answered as unknown, and sent
/// again it would stop the cluster again.
actor SkippedCommands {
    private let journal: any ClusterJournal
    /// The bytes of the entries; empty for one that the journal has no more.
    private var known: [SkippedEntry: Data] = [:]

    init(_ journal: any ClusterJournal) { self.journal = journal }

    /// Whether anything is skipped.
    nonisolated var isEmpty: Bool { journal.skipped.isEmpty }

    static let refusal = RepriseError(
        .refused, "No server of the cluster could do this, and its operator has it skipped.")

    /// Whether a message was in one of them.
    func has(_ message: NewMessage) async -> Bool {
        var writer = BinaryWriter()
        writer.write(message.channel.text)
        writer.write(message.id.text)
        return await has(writer.bytes)
    }

    /// Whether a change of accounts, or a device's hello, was in one of them.
    func has(_ command: ClusterCommand) async -> Bool {
        switch command {
        case .account, .hello: await has(command.bytes)
        case .nop, .session, .publish, .trim, .lease, .beginPushing, .pushed, .mark, .hashed,
            .checked, .stuck, .forgetIDs, .rules:
            false
        }
    }

    private func has(_ bytes: [UInt8]) async -> Bool {
        let pattern = Data(bytes)
        for entry in journal.skipped {
            if known[entry] == nil, let found = try? await journal.read(after: entry.sequence - 1) {
                let stored = found.entries.first.flatMap { entry.isEntry($0) ? $0.bytes : nil }
                known[entry] = Data(stored ?? [])
            }
            if known[entry]?.range(of: pattern) != nil { return true }
        }
        return false
    }
}
