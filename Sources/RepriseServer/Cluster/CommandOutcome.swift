package import RepriseCore
package import RepriseWire

/// What a command came to.
package enum CommandOutcome: Sendable {
    /// Nothing: of `nop` and `session`.
    case nothing
    /// One result for each message.
    case published([AppendResult])
    /// A device's hello counts; to keep within the limit another one's was forgotten.
    case arrived(Arrival, forgotten: Arrival?)
    /// A lease was granted, by this sequence, or refused.
    case leased(grant: Int64?)
    /// Every gateway keeps its view as it is here; by the holder of this grant.
    case marked(grant: Int64)
    /// What a gateway's view came to at a mark.
    case hashed(ViewHash)
    /// What entries came to at a gateway.
    case checked(ResultCheck)
    /// Some messages were removed; whether more are to be.
    case trimmed(ChannelName, more: Bool)
    /// Some ids were forgotten; whether more of their run are to be.
    case forgot(more: Bool)
    /// A command's `Outcome`, and what others have to hear of.
    case changed(any Sendable, AccountEffects)
    /// It changed nothing.
    case refused(RepriseError)
}

/// What the view of a gateway held at a mark.
package struct ViewHash: Hashable, Sendable {
    /// The sequence of the mark's entry.
    package var mark: Int64
    /// See ``ViewContent``: 32 bytes.
    package var hash: [UInt8]

    package init(mark: Int64, hash: [UInt8]) { (self.mark, self.hash) = (mark, hash) }
}

/// A device's newest hello.
package struct Arrival: Hashable, Sendable {
    package let device: ConnectingDevice
    package let generation: Generation
}

/// An entry that a gateway has applied.
package struct AppliedEntry: Sendable {
    package let sequence: Int64
    package let session: Int64
    package let n: Int64
    /// Of the whole entry.
    package let bytes: Int
    /// The journal's.
    package let time: WallTime
    package let disposition: AdmissionMachine.Disposition
    /// Of an accepted entry, one for each command.
    package let outcomes: [CommandOutcome]
}
