import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The members, and failed messages.
extension ChatRoom {
    /// The other known users: present readers, and senders of the messages on the screen.
    var who: [String] {
        let newest = snapshot.items.compactMap(\.seq).max() ?? 0
        let readers = positions.values.sorted { $0.read > $1.read }
        let known = Set(readers.map(\.user.text))
        var authors: Set<String> = []
        let writers = snapshot.items.reversed().filter {
            !$0.isMine && !known.contains($0.author) && authors.insert($0.author).inserted
        }
        let lines =
            readers.map { "\($0.user): \(standing($0, newest))" }
            + writers.map { "\($0.author): last said something at \($0.time.hourAndMinute)" }
        return Array(lines.prefix(10)).orNobody
    }

    private func standing(_ position: ServerFrame.Position, _ newest: Int64) -> String {
        if snapshot.typists.contains(position.user.text) { return "is typing" }
        let rest = snapshot.items.count { item in
            item.author != position.user.text && (item.seq ?? 0) > position.read && !item.isDeleted
        }
        let coming = position.delivered < newest ? ", and has not got all yet" : ""
        return rest == 0 ? "has read everything" : "has not read the last \(rest.grouped)" + coming
    }

    func dead() async throws -> [String] {
        let lines = try await channel.outbox.deadLetters().map { Self.words($0) }
        return lines.isEmpty ? ["Nothing: all was sent, or waits to be."] : Array(lines.suffix(10))
    }

    private static func words(_ letter: DeadLetter) -> String {
        let what =
            switch letter.change {
            case nil: ChatBody(letter.body).text
            case .edits: "(edit) " + ChatBody(letter.body).text
            case .deletes: "(deletion)"
            }
        return "\(letter.id.text.prefix(8))  \(what): \(letter.reason)"
    }

    /// Does something about a dead letter: the one whose id begins so, or the newest.
    func settle(
        _ prefix: String?, _ done: String, _ body: (Outbox, EntryID) async throws -> Void
    ) async throws -> [String] {
        let letters = try await channel.outbox.deadLetters()
        let found = letters.filter { prefix.map($0.id.text.hasPrefix) ?? true }
        guard let letter = found.last, prefix == nil || found.count == 1 else {
            return ["There is no such dead letter, or more than one. /dead lists them."]
        }
        try await body(channel.outbox, letter.id)
        if let letters = try? await channel.outbox.deadLetters() { snapshot.dead = letters.count }
        return ["\(done): \(Self.words(letter))"]
    }
}

extension [String] {
    fileprivate var orNobody: [String] { isEmpty ? ["Nobody else is known here yet."] : self }
}
