package import RepriseCore

/// The limits of the cluster's journal.
///
/// What decides about entries is the same on every gateway: a change of these is a change of
/// ``ClusterEntry/rules``.
package enum ClusterLimits {
    /// The most bytes of an entry; NATS refuses messages beyond 1 MiB by default.
    package static let entryBytes = 900 << 10
    /// The most commands of an entry.
    package static let entryCommands = 4_096
    /// The most entries of one gateway that wait for their turn in the journal.
    package static let entriesInFlight = 4
    /// The most commands of one gateway that wait or are under way.
    package static let waitingCommands = 65_536
    /// The most bytes of these.
    package static let waitingBytes = 64 << 20
    /// The most hellos of one gateway that wait for the journal.
    package static let waitingHellos = 16_384
    /// How long a read waits for the position that it names, before it asks the journal.
    package static let positionWait: Duration = .seconds(2)
    /// The most devices whose newest hello is remembered; the connection of one that is forgotten
    /// is ended.
    package static let devices = 1_048_576
    /// How long a lease holds after it was granted, by the journal's time.
    package static let leaseTime: Duration = .seconds(20)
    /// How long its holder acts after it asked, by its own uptime.
    package static let leaseActs: Duration = .seconds(16)
    /// How often its holder asks again.
    package static let leaseRenewal: Duration = .seconds(5)
    /// How often a gateway looks.
    package static let leaseLook: Duration = .seconds(1)
    /// How much longer than ``leaseTime`` others wait before they claim it, at most.
    package static let leaseJitter: Duration = .seconds(2)
    /// How often it is noted up to where nothing waits to be pushed.
    package static let pushProgress: Duration = .seconds(5)
    /// The most channels, marks or addresses of one such note.
    package static let pushNotes = 4_096
    /// How long a gateway waits for an entry of its own before it sends it again.
    package static let resendAfter: Duration = .seconds(1)
    /// After this silence a gateway asks the journal what it has missed.
    package static let silence: Duration = .milliseconds(250)
    /// How long a caller waits, from when the server took the request, before it is told that the
    /// outcome is unknown; up to ``Committer/Limits/span`` less where others waited with it.
    package static let answerWithin: Duration = .seconds(15)
    /// The most bytes of entries that came live and wait to be applied.
    package static let waitingEntryBytes = 8 << 20
    /// How often a gateway asks how full the journal is, and who leads it.
    package static let statusEvery: Duration = .seconds(5)
    /// After this time without an answer a gateway is not ready.
    package static let leaderless: Duration = .seconds(20)
    /// From this part of the journal's bytes on, in percent, nothing is published.
    package static let publishFill = 85
    /// From this one on no account is changed; the rest is for hellos, leases and trims.
    package static let accountFill = 90
    /// How often a base is made, unless the journal fills sooner: half of the time within which
    /// what is deleted is gone everywhere.
    package static let baseEvery: Duration = .seconds(43_200)
    /// The pauses after bases that could not be made.
    package static let baseRetries = Backoff(base: .seconds(30), longest: .seconds(600))
    /// How full the journal is when a base is made sooner, in percent.
    package static let baseFill = 50
    /// The bytes of a piece of a base.
    package static let basePiece = 768 << 10
    /// The most pieces of a base: their hashes are one message of NATS.
    package static let basePieces = 24_576
    /// The most entries that a node of NATS lacks while it follows the journal's leader.
    package static let nodeLag: Int64 = 100
    /// A node that its leader has not heard for so long counts as away, as in JetStream itself.
    package static let nodeSilence: Duration = .seconds(10)
    /// How long `check` looks whether a node that lacks entries gets them.
    package static let nodeWait: Duration = .seconds(5)
    /// How often it looks.
    package static let nodeLook: Duration = .milliseconds(250)
    /// How long `check` waits for an answer of a monitoring port.
    package static let monitorWait: Duration = .seconds(5)
    /// The most bytes of such an answer, which names all streams of the server.
    package static let monitorBytes = 16 << 20
    /// How long `check` shows a gateway that writes no more, while others write.
    package static let gatewaySilence: Duration = .seconds(60)
    /// How often gateways compare what entries came to, by the journal's time.
    package static let checkEvery: Duration = .seconds(10)
    /// After how many ends of the process at one entry it is not tried again.
    package static let deaths = 2
    /// The most bytes of a gateway's name, and of its SQLite's version, that others show.
    package static let nameBytes = 64
    /// The most bytes of the reason why a gateway cannot apply an entry.
    package static let reasonBytes = 400
    /// The most entries that are skipped at a time; those behind the base are forgotten.
    package static let skipped = 64
    /// How long other gateways have to say what their view holds, before one that is alone goes on;
    /// and how long one tries to say it.
    package static let hashWithin: Duration = .seconds(600)
    /// How long a gateway applies what comes since it last saw that the journal holds what it has
    /// applied; then it compares first.
    package static let confirmedWithin: Duration = .seconds(2)
    /// How many sequences an entry's base may lie behind the entry.
    package static let baseEntries: Int64 = 10_000
    /// How old an entry's base may be, in the journal's time.
    package static let baseAge: Duration = .seconds(60)
    /// How many entries each gateway remembers the digests of.
    package static let recentEntries = 65_536
    /// How far the journal's time moves unless a second clock confirms it.
    package static let timeStep: Duration = .seconds(60)
    /// How far two clocks that confirm each other may differ.
    package static let clockDifference: Duration = .seconds(300)
    /// After this time without an entry, a writer's session is forgotten.
    package static let sessionLife: Duration = .seconds(86_400)
    /// The most sessions; beyond them the one that was used least recently is forgotten.
    package static let sessions = 4_096
}
