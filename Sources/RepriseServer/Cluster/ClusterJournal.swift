import Crypto
package import RepriseCore
package import RepriseWire

/// The journal of a cluster, as a gateway sees it.
package protocol ClusterJournal: Sendable {
    /// Tells this journal from any other; also of all channels.
    var epoch: Epoch { get }

    /// The cluster's name, if it has one.
    var cluster: ClusterName? { get }

    /// Publishes an entry. Whether it arrives shows in the journal alone: it may be lost, or stored
    /// more than once, or late.
    func send(_ bytes: [UInt8]) async

    /// Hands over the entries that are stored from now on; some may be missing, double or out of
    /// order. Nil when the journal is left for good. Called once.
    ///
    /// - Parameter heard: does not block.
    func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void)

    /// The entries behind a sequence, in order and without holes, and the last sequence that is
    /// stored. There may be more than are returned; 32 are, if there are so many. They begin later
    /// if those before them are not there.
    ///
    /// - Throws: if nobody can be asked.
    func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64)

    /// What its stream is like now.
    ///
    /// - Throws: if nobody can be asked, or no majority is there.
    func status() async throws -> JournalStatus

    /// Another one after each loss of the connection to the journal; nil while there is none.
    ///
    /// An entry that is heard over a later one may stand behind what the journal has lost since: a
    /// server's files are replaced while it is off. So it is another one before such an entry is
    /// delivered. Does not block.
    var connectionNumber: UInt64? { get }

    /// Tells all gateways something that may be lost; does not block.
    func say(_ bytes: [UInt8], on subject: NewsSubject)

    /// What gateways say from now on, this one too; the oldest of what waits is dropped. Called
    /// once for a subject.
    func said(on subject: NewsSubject) -> AsyncStream<[UInt8]>

    /// The entries that an operator has ordered to be skipped, as far as it is known here: what was
    /// known when the journal was opened, or at the last ``status()``.
    var skipped: Set<SkippedEntry> { get }

    /// The ``ClusterRules`` by which its operator wants it applied, as far as it is known here.
    var rules: Int64 { get }

    /// The epochs that it had before it was restored.
    var formerEpochs: Set<Epoch> { get }

    /// Where bases are kept; nil if the journal keeps none.
    var bases: (any BaseStore)? { get }

    /// Leaves the journal: nothing comes any more.
    func close() async
}

extension ClusterJournal {
    package var cluster: ClusterName? { nil }
    package var connectionNumber: UInt64? { 0 }
    package func say(_ bytes: [UInt8], on subject: NewsSubject) {}
    package func said(on subject: NewsSubject) -> AsyncStream<[UInt8]> {
        AsyncStream { $0.finish() }
    }
    package var skipped: Set<SkippedEntry> { [] }
    package var rules: Int64 { ClusterRules.newest }
    package var formerEpochs: Set<Epoch> { [] }
    package var bases: (any BaseStore)? { nil }
}

/// What gateways tell each other beside the journal; the last part of its subject's name in NATS.
package enum NewsSubject: String, Hashable, Sendable, CaseIterable {
    case typing = "news"
    case presence
    case connected
}

/// An entry that counts, and of which every command is refused: one that no gateway can apply.
package struct SkippedEntry: Hashable, Sendable {
    package var sequence: Int64
    /// The SHA-256 of its bytes.
    package var hash: [UInt8]

    package init(_ entry: StoredEntry) {
        sequence = entry.sequence
        hash = Array(SHA256.hash(data: entry.bytes))
    }

    package init(sequence: Int64, hash: [UInt8]) { (self.sequence, self.hash) = (sequence, hash) }

    func isEntry(_ entry: StoredEntry) -> Bool {
        entry.sequence == sequence && Self(entry) == self
    }
}

/// Keeps copies of views beside a journal, so that the entries before them can go.
package protocol BaseStore: Sendable {
    /// Keeps a piece durably under its name, in place of a former one.
    func put(_ bytes: [UInt8], as name: BasePiece) async throws
    /// - Returns: nil if there is none.
    func get(_ name: BasePiece) async throws -> [UInt8]?
    /// The marks of which a manifest, or else a first piece, is kept; sorted.
    func marks(complete: Bool) async throws -> [Int64]
    /// Removes the pieces of the base at a mark, and its manifest.
    func removePieces(at mark: Int64) async throws
    /// Removes the journal's entries up to this one.
    func removeEntries(through sequence: Int64) async throws
}

/// A name in a ``BaseStore``.
package enum BasePiece: Hashable, Sendable {
    /// With it, the base at a mark counts.
    case manifest(mark: Int64)
    case piece(mark: Int64, number: Int)
}

/// The stream that a journal is stored in.
package struct JournalStatus: Hashable, Sendable {
    /// A server that stores it.
    package struct Server: Hashable, Sendable {
        package var name: String
        package var isLeader = false
        /// Whether it has all that the leader has.
        package var isCurrent = true
        package var isOffline = false
        /// How many entries it is behind.
        package var lag: Int64 = 0
        /// How long the leader has not heard it.
        package var unheard: Duration = .zero

        package init(name: String) { self.name = name }

        /// Whether it counts as away.
        package var isLost: Bool { isOffline || unheard >= ClusterLimits.nodeSilence }

        /// For people, after its name.
        package var state: String {
            if isLeader { return "leads" }
            if isOffline { return "is not there" }
            if isLost {
                return "is silent: the leader has not heard it for \(Int(unheard / .seconds(1))) s"
            }
            if isCurrent || lag == 0 { return "has all" }
            return "is \(lag) \(lag == 1 ? "entry" : "entries") behind"
        }
    }

    package var bytes: Int64
    /// Nil for no bound.
    package var maxBytes: Int64?
    /// The first and the last entry that are stored; the last is 0 in an empty one.
    package var first: Int64
    package var last: Int64
    /// Sorted by name; empty if nobody says.
    package var servers: [Server] = []
    /// Whether nothing is stored any more: its data was moved out.
    package var isSealed = false
    /// Why a gateway with these flags must not be in this cluster; nil: there is no reason.
    package var difference: String?
    /// When this was said, by the clock that stamps entries; nil if nobody says.
    package var time: WallTime?

    package init(bytes: Int64 = 0, maxBytes: Int64? = nil, first: Int64 = 1, last: Int64 = 0) {
        (self.bytes, self.maxBytes, self.first, self.last) = (bytes, maxBytes, first, last)
    }

    /// Whether one of its servers leads it; a single one does.
    package var isLed: Bool { servers.isEmpty || servers.contains(where: \.isLeader) }
}

/// A ``CommandSubmission`` of what has waited: since when, by the uptime; nil for now.
typealias TimedSubmission =
    @Sendable ([ClusterCommand], _ since: Duration?) async throws -> [CommandOutcome]

/// Brings commands into the journal, and returns what each came to.
///
/// - Throws: ``RepriseCore/RepriseError`` `.full`, `.tooLarge`: nothing is stored; `.unavailable`:
///   unknown.
package typealias CommandSubmission = @Sendable ([ClusterCommand]) async throws -> [CommandOutcome]
