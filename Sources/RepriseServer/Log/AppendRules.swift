import Crypto
package import RepriseCore
package import RepriseWire

/// Decides whether and how a message is stored: the log's rules, independent of its storage.
///
/// The first user for whom an id was stored owns it. Another user who publishes it gets `conflict`,
/// and so does its owner in another channel; both refusals are identical, so that neither reveals
/// where the id is.
///
/// An edit or a deletion is stored like any message, if its author may change the target:
///
/// | target | an edit | a deletion |
/// |---|---|---|
/// | was never stored | `noSuchMessage` | buried |
/// | was published by another user | `forbidden` | `forbidden`, unless `mayChangeOthers` |
/// | is an edit | `noSuchMessage` | stored: the message reverts to its state before that edit |
/// | is a deletion | `noSuchMessage` | `noSuchMessage` |
/// | is deleted | `noSuchMessage` | stored; it changes nothing |
/// | was removed by retention | `noSuchMessage` | stored if `mayChangeOthers`, or `noSuchMessage` |
/// | is in another channel, or is the message itself | `noSuchMessage` | `noSuchMessage` |
///
/// Buried: the target is stored first, deleted and without a body. A late publish of it is a
/// duplicate, by the same user or, with `mayChangeOthers`, by anybody; until then it precedes no
/// message. The author of a message removed by retention is unknown.
package enum AppendRules {
    /// A message's channel and sequence.
    package struct Position: Hashable, Sendable {
        package let channel: Int64
        package let seq: Int64

        package init(channel: Int64, seq: Int64) {
            self.channel = channel
            self.seq = seq
        }
    }

    /// An id's place and owner.
    package struct Known: Hashable, Sendable {
        package let position: Position
        /// Its owner, hashed by ``AppendRules/owner(_:)``; nil if access was open, or a former
        /// version stored it.
        package let owner: Int64?

        package init(_ position: Position, owner: Int64?) {
            self.position = position
            self.owner = owner
        }
    }

    /// The state of a message to be changed.
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

    /// The decision about a message.
    package enum Decision: Hashable, Sendable {
        /// Nothing is stored.
        case answer(AppendResult)
        /// It is stored; a deletion blanks its target and the target's edits in the same
        /// transaction.
        case store(MessageChange<Int64>?)
        /// It deletes a message that was never stored: that one is stored first, as deleted.
        case bury(EntryID)
        /// The buried message has arrived: a duplicate, and a predecessor from now on.
        case arrived(Position)
    }

    /// A channel's state between two appends.
    package struct Head: Hashable, Sendable {
        package let key: Int64
        package private(set) var seq: Int64
        /// The number of stored messages.
        package var count: Int64
        /// The bytes of stored bodies.
        package var bytes: Int64
        package private(set) var time: WallTime

        package init(key: Int64, seq: Int64, count: Int64, bytes: Int64, time: WallTime) {
            self.key = key
            self.seq = seq
            self.count = count
            self.bytes = bytes
            self.time = time
        }

        /// Assigns a message its sequence and time: after the newest, and not earlier than it.
        ///
        /// There is one left: `AppendRules` has decided so.
        package mutating func take(
            _ message: NewMessage, _ change: MessageChange<Int64>? = nil, now: WallTime
        ) -> ServerFrame.Event {
            var body = message.body
            if case .deletes = change { body = AppendRules.nothing }
            return place(message, id: message.id, change, isDeleted: false, body, now)
        }

        /// Assigns a sequence to a message that was never stored and that `message` deletes.
        package mutating func bury(
            _ id: EntryID, by message: NewMessage, now: WallTime
        ) -> ServerFrame.Event {
            place(message, id: id, nil, isDeleted: true, AppendRules.nothing, now)
        }

        private mutating func place(
            _ message: NewMessage, id: EntryID, _ change: MessageChange<Int64>?, isDeleted: Bool,
            _ body: [UInt8], _ now: WallTime
        ) -> ServerFrame.Event {
            time = max(now, time)
            count += 1
            bytes += Int64(body.count)
            defer { seq += 1 }
            return ServerFrame.Event(
                channel: message.channel, seq: seq + 1, prev: seq, id: id, time: time,
                from: message.from, change: change, isDeleted: isDeleted, body: body)
        }
    }

    /// The body of a deletion, and of a deleted message: JSON's `null`.
    package static let nothing = Array("null".utf8)

    /// The owner as stored beside an id: 64 bits of a hash without chosen collisions.
    ///
    /// - Returns: nil where access is open.
    package static func owner(_ user: UserID?) -> Int64? {
        guard let user else { return nil }
        let hash = SHA256.hash(data: Array(user.text.utf8)).prefix(8)
        return hash.reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }

    /// The owner of an id that a deletion buries: the deleting user; nil if that user may delete
    /// any message in the channel.
    package static func owner(ofBuriedBy deletion: NewMessage) -> UserID? {
        deletion.mayChangeOthers ? nil : deletion.from
    }

    /// Decides about a message.
    ///
    /// - Parameters:
    ///   - message: the message to store.
    ///   - channel: its channel, nil if that has no messages yet.
    ///   - known: looks an id up; nil if it was never stored.
    ///   - awaits: whether the message there was buried and has not arrived.
    ///   - target: looks up the message there; nil if it is no longer kept.
    /// - Returns: the decision; `channelFull` if the channel has too few sequences left.
    package static func decide(
        _ message: NewMessage, in channel: Head?,
        known: (EntryID) throws -> Known?, awaits: (Position) throws -> Bool,
        target: (Position) throws -> Target?
    ) rethrows -> Decision {
        let decision = try decide(
            message, inChannel: channel?.key, known: known, awaits: awaits, target: target)
        let needed: Int64 =
            switch decision {
            case .answer, .arrived: 0
            case .store: 1
            case .bury: 2
            }
        guard needed > 0, (channel?.seq ?? 0) > WireLimits.greatestSequence - needed else {
            return decision
        }
        return .answer(.refused(.channelFull, "The channel has no sequences left."))
    }

    private static func decide(
        _ message: NewMessage, inChannel channel: Int64?,
        known: (EntryID) throws -> Known?, awaits: (Position) throws -> Bool,
        target: (Position) throws -> Target?
    ) rethrows -> Decision {
        let own = try known(message.id)
        if let own {
            guard own.position.channel == channel, own.mayBe(of: message.from) else {
                return .answer(
                    .refused(.conflict, "The id is taken. Publish this message with a fresh one."))
            }
            guard try awaits(own.position) else {
                return .answer(.duplicate(seq: own.position.seq))
            }
        }
        if let after = message.after {
            guard let before = try known(after)?.position, before.channel == channel,
                try !awaits(before)
            else {
                return .answer(
                    .refused(
                        .predecessorMissing, "The message named in after is not stored yet."))
            }
        }
        if let own { return .arrived(own.position) }
        guard let change = message.change else { return .store(nil) }
        let noSuchMessage = Decision.answer(
            .refused(.noSuchMessage, "The channel has no message with this id to change."))
        guard change.target != message.id else { return noSuchMessage }
        guard let changed = try known(change.target)?.position else {
            guard case .deletes(let id) = change else { return noSuchMessage }
            return .bury(id)
        }
        guard changed.channel == channel else { return noSuchMessage }
        guard let found = try target(changed) else {
            guard case .deletes = change, message.mayChangeOthers else { return noSuchMessage }
            return .store(.deletes(changed.seq))
        }
        return decide(message, change, found, at: changed.seq) ?? noSuchMessage
    }

    /// Decides about a change of a stored target; nil for `noSuchMessage`.
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

extension AppendRules.Known {
    /// Whether a user may be the owner; true where either is unknown.
    fileprivate func mayBe(of user: UserID?) -> Bool {
        guard let owner, let asking = AppendRules.owner(user) else { return true }
        return owner == asking
    }
}
