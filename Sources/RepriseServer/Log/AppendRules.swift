package import RepriseCore
package import RepriseWire

/// Decides what becomes of a message that is to be stored: the log's rules, wherever it keeps its rows.
///
/// An edit or a deletion is a message like any other, with one more question: may this one change that one?
///
/// | the message it names | an edit | a deletion |
/// |---|---|---|
/// | never came | `noSuchMessage` | buried: it is stored first, deleted and without a body, so that it is a duplicate should it come late; until then it is nobody's predecessor |
/// | was published by somebody else | `forbidden` | `forbidden`, unless `NewMessage/mayChangeOthers` |
/// | is an edit | `noSuchMessage` | stored: the message looks as it did before that edit |
/// | is a deletion | `noSuchMessage` | `noSuchMessage` |
/// | is deleted | `noSuchMessage` | stored; it changes nothing |
/// | was taken away by retention | `noSuchMessage` | stored if `mayChangeOthers`, else `noSuchMessage`: its author is not known any more |
/// | is in another channel, or is the message itself | `noSuchMessage` | `noSuchMessage` |
package enum AppendRules {
    /// Where a message lies.
    package struct Position: Hashable, Sendable {
        package let channel: Int64
        package let seq: Int64

        package init(channel: Int64, seq: Int64) {
            self.channel = channel
            self.seq = seq
        }
    }

    /// What is asked about a message before it is changed.
    package struct Target: Hashable, Sendable {
        package enum Kind: Hashable, Sendable { case message, edit, deletion }

        package let from: UserID?
        package let kind: Kind
        package let isDeleted: Bool

        package init(from: UserID?, kind: Kind, isDeleted: Bool) {
            self.from = from
            self.kind = kind
            self.isDeleted = isDeleted
        }
    }

    /// What becomes of a message.
    package enum Decision: Hashable, Sendable {
        /// Nothing is stored.
        case answer(AppendResult)
        /// It is stored; a deletion blanks its target and the target's edits in the same transaction.
        case store(MessageChange<Int64>?)
        /// It deletes a message that never came: that one is stored first, as a deleted one.
        case bury(EntryID)
        /// It was buried and comes now: a duplicate, and from now on a predecessor.
        case arrived(Position)
    }

    /// What is remembered of a channel between two messages.
    package struct Head: Hashable, Sendable {
        package let key: Int64
        package private(set) var seq: Int64
        /// How many messages are stored.
        package var count: Int64
        /// How many bytes of bodies are stored.
        package var bytes: Int64
        package private(set) var time: WallTime

        package init(key: Int64, seq: Int64, count: Int64, bytes: Int64, time: WallTime) {
            self.key = key
            self.seq = seq
            self.count = count
            self.bytes = bytes
            self.time = time
        }

        /// Gives a message its place: behind the newest, and not earlier than it.
        ///
        /// - Throws: ``RepriseCore/RepriseError`` `.full` if the channel has no sequences left.
        package mutating func take(
            _ message: NewMessage, _ change: MessageChange<Int64>? = nil, now: WallTime
        ) throws -> ServerFrame.Event {
            var body = message.body
            if case .deletes = change { body = AppendRules.nothing }
            return try place(message, id: message.id, change, isDeleted: false, body, now)
        }

        /// Gives a message that never came, and that is deleted by `message`, its place.
        package mutating func bury(
            _ id: EntryID, by message: NewMessage, now: WallTime
        ) throws -> ServerFrame.Event {
            try place(message, id: id, nil, isDeleted: true, AppendRules.nothing, now)
        }

        private mutating func place(
            _ message: NewMessage, id: EntryID, _ change: MessageChange<Int64>?, isDeleted: Bool,
            _ body: [UInt8], _ now: WallTime
        ) throws -> ServerFrame.Event {
            guard seq < WireLimits.greatestSequence else {
                throw RepriseError(.full, "The channel has no sequences left.")
            }
            time = max(now, time)
            count += 1
            bytes += Int64(body.count)
            defer { seq += 1 }
            return ServerFrame.Event(
                channel: message.channel, seq: seq + 1, prev: seq, id: id, time: time,
                from: message.from, change: change, isDeleted: isDeleted, body: body)
        }
    }

    /// The body of a deletion, and of what is deleted: JSON's `null`.
    package static let nothing = Array("null".utf8)

    /// Decides about a message.
    ///
    /// - Parameters:
    ///   - message: what is to be stored.
    ///   - channel: the key of the message's channel, nil if nothing was stored in it yet.
    ///   - position: says where the message with an id was stored.
    ///   - awaits: whether the message there was buried and has not come.
    ///   - target: says what is stored there; nil if it is not kept any more.
    /// - Returns: what becomes of it.
    package static func decide(
        _ message: NewMessage, in channel: Int64?,
        position: (EntryID) throws -> Position?, awaits: (Position) throws -> Bool,
        target: (Position) throws -> Target?
    ) rethrows -> Decision {
        let known = try position(message.id)
        if let known {
            guard known.channel == channel else {
                return .answer(
                    .refused(.conflict, "The id belongs to a message in another channel."))
            }
            guard try awaits(known) else { return .answer(.duplicate(seq: known.seq)) }
        }
        if let after = message.after {
            guard let before = try position(after), before.channel == channel,
                try !awaits(before)
            else {
                return .answer(
                    .refused(
                        .predecessorMissing, "The message named in after is not stored yet."))
            }
        }
        if let known { return .arrived(known) }
        guard let change = message.change else { return .store(nil) }
        let noSuchMessage = Decision.answer(
            .refused(.noSuchMessage, "The channel has no message with this id to change."))
        guard change.target != message.id else { return noSuchMessage }
        guard let known = try position(change.target) else {
            guard case .deletes(let id) = change else { return noSuchMessage }
            return .bury(id)
        }
        guard known.channel == channel else { return noSuchMessage }
        guard let found = try target(known) else {
            guard case .deletes = change, message.mayChangeOthers else { return noSuchMessage }
            return .store(.deletes(known.seq))
        }
        return decide(message, change, found, at: known.seq) ?? noSuchMessage
    }

    /// Decides about a change whose target is there; nil for `noSuchMessage`.
    private static func decide(
        _ message: NewMessage, _ change: MessageChange<EntryID>, _ target: Target, at seq: Int64
    ) -> Decision? {
        let isAuthor = target.from == message.from
        switch (change, target.kind) {
        case (_, .deletion), (.edits, .edit): return nil
        case (.edits, .message):
            guard isAuthor else { return .answer(forbidden) }
            return target.isDeleted ? nil : .store(.edits(seq))
        case (.deletes, .message), (.deletes, .edit):
            guard isAuthor || message.mayChangeOthers else { return .answer(forbidden) }
            return .store(.deletes(seq))
        }
    }

    private static let forbidden = AppendResult.refused(
        .forbidden, "Only its author may change this message.")
}
