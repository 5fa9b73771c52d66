package import RepriseWire

/// The journal of a cluster, as a gateway sees it.
package protocol ClusterJournal: Sendable {
    /// Tells this journal from any other; also of all channels.
    var epoch: Epoch { get }

    /// Publishes an entry. Whether it arrives shows in the journal alone: it may be lost, or stored
    /// more than once, or late.
    func send(_ bytes: [UInt8]) async

    /// The entries that are stored from now on; some may be missing, double or out of order. Ends
    /// when the journal is left for good.
    func live() -> AsyncStream<StoredEntry>

    /// The entries behind a sequence, in order and without holes, and the last sequence that is
    /// stored. There may be more than are returned; 32 are, if there are so many.
    ///
    /// - Throws: if nobody can be asked.
    func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64)

    /// Leaves the journal: nothing comes any more.
    func close() async
}

/// Brings commands into the journal, and returns what each came to.
///
/// - Throws: ``RepriseCore/RepriseError`` `.full`, `.tooLarge`: nothing is stored; `.unavailable`:
///   unknown.
package typealias CommandSubmission = @Sendable ([ClusterCommand]) async throws -> [CommandOutcome]
