import RepriseCore

/// The rules for an entry, wherever it enters.
enum EntryCheck {
    static func check(_ entry: NewEntry) throws {
        guard entry.payload.count <= JournalLimits.payloadBytes else {
            throw RepriseError(
                .tooLarge,
                "A payload of \(entry.payload.count) bytes; \(JournalLimits.payloadBytes) is the most.",
                remedy: "Put large content into a file and name it in the payload.")
        }
        guard entry.kind.utf8.count <= JournalLimits.nameBytes,
            entry.source.utf8.count <= JournalLimits.nameBytes,
            entry.partitionKey?.utf8.count ?? 0 <= JournalLimits.partitionKeyBytes
        else {
            throw RepriseError(
                .tooLarge, "The name of a kind, a source or a partition key is too long.")
        }
        // SQLite would keep the text before it, so that two names became one.
        guard
            ![entry.kind, entry.source, entry.partitionKey ?? ""].contains(where: {
                $0.utf8.contains(0)
            })
        else {
            throw RepriseError(
                .malformed, "The name of a kind, a source or a partition key holds a zero byte.")
        }
    }
}
