import Foundation
package import Logging
package import RepriseCore
package import RepriseServer
package import RepriseWire

/// What can be seen of a cluster from outside, without being a part of it.
package struct ClusterInspection: Sendable {
    /// A gateway that has written lately.
    package struct Gateway: Hashable, Sendable {
        package var session: Int64
        /// Nil if it has none, or the entry that opened its session is gone and no check was seen.
        package var name: String?
        /// Its newest entry.
        package var entry: Int64
        /// When that was stored.
        package var time: WallTime
        /// How many entries it had not applied when it wrote that.
        package var behind: Int64
        /// How far its clock was ahead of the journal's.
        package var clock: Duration
        /// The version of its SQLite, as far as it was seen.
        package var sqlite: String?
    }

    /// Who renewed a lease last.
    package struct Renewal: Hashable, Sendable {
        package var session: Int64
        package var grant: Int64
        /// When that was stored.
        package var time: WallTime

        /// Whether another gateway may have the lease.
        package func hasLapsed(at now: WallTime) -> Bool {
            time.duration(to: now) >= ClusterLimits.leaseTime
        }
    }

    package var stream: String
    package var epoch: Epoch
    package var status: JournalStatus
    /// When it was looked, by the clock that stamps entries, or else by that of this machine.
    package var now: WallTime
    /// See ``NodeProgress/behind``.
    package var behind: [JournalStatus.Server]
    package var replicas: Int
    package var version: String
    /// See ``ClusterRules``.
    package var rules = ClusterRules.first
    package var base: BaseManifest?
    /// Sorted by session.
    package var gateways: [Gateway] = []
    /// The leases that were renewed lately, and not given back since.
    package var leases: [LeaseRole: Renewal] = [:]
    /// The newest entries that no version writes.
    package var strangers = 0
    /// Whether two gateways stood on another past at the same entry.
    package var pastsDiffer = false
    /// What gateways said that entries came to: by their last entry and their session.
    package var results: [Int64: [Int64: ResultCheck]] = [:]
    /// When gateways said what their views held at a mark, by that mark and their session.
    package var hashed: [Int64: [Int64: WallTime]] = [:]
    /// The gateways that cannot apply an entry; those that have not gone on since.
    package var stuck: [StuckReport] = []
    /// The entries that an operator has ordered to be skipped.
    package var skipped: [Int64] = []

    /// How many of the newest entries are looked at.
    private static let newest: Int64 = 4_096

    /// The name of a cluster's stream.
    package static func stream(of cluster: ClusterName) -> String {
        JournalStream(cluster: cluster).name
    }

    /// Looks.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unreachable`, `.refused`, `.unavailable`;
    ///   `.badConfiguration` if there is no journal, or it has other settings.
    package static func look(
        _ configuration: NatsConfiguration, cluster: ClusterName, logger: Logger
    ) async throws -> ClusterInspection {
        let journal = try await NatsJournal.find(configuration, cluster: cluster, logger: logger)
        do {
            let found = try await look(journal)
            await journal.close()
            return found
        } catch {
            await journal.close()
            throw error
        }
    }

    private static func look(_ journal: NatsJournal) async throws -> ClusterInspection {
        let nodes = try await NodeProgress.look(journal)
        var inspection = ClusterInspection(
            stream: journal.streamName, epoch: journal.epoch, status: nodes.status,
            now: nodes.status.time ?? SystemTimekeeper().wall(), behind: nodes.behind,
            replicas: journal.replicas, version: journal.version)
        inspection.rules = journal.rules
        inspection.base = try await journal.bases?.newest()
        inspection.skipped = journal.skipped.map(\.sequence).sorted()
        try await inspection.read(journal)
        return inspection
    }

    private mutating func read(_ journal: NatsJournal) async throws {
        var gateways: [Int64: Gateway] = [:]
        var pasts: [Int64: JournalDigest] = [:]
        let start = max(status.last - Self.newest, status.first - 1, 0)
        var at = start
        while at < status.last {
            let (entries, _) = try await journal.read(after: at)
            guard let last = entries.last else { break }
            at = last.sequence
            for stored in entries { take(stored, readFrom: start, &gateways, &pasts) }
        }
        for session in gateways.keys where gateways[session]?.name == nil {
            let found = try await name(ofSession: session, journal)
            gateways[session]?.name = found
        }
        self.gateways = gateways.values.sorted { $0.session < $1.session }
        removeSolved()
    }

    private mutating func take(
        _ stored: StoredEntry, readFrom start: Int64, _ gateways: inout [Int64: Gateway],
        _ pasts: inout [Int64: JournalDigest]
    ) {
        guard let entry = try? ClusterEntry(stored.bytes) else {
            strangers += 1
            return
        }
        if case .stuck(let said)? = entry.commands.first {
            let report = said.shortened
            stuck.removeAll { $0.name == report.name }
            stuck.append(report)
            return
        }
        if let past = pasts[entry.base.sequence], past != entry.base.digest { pastsDiffer = true }
        pasts[entry.base.sequence] = entry.base.digest
        let session = entry.session == 0 ? stored.sequence : entry.session
        note(entry, stored, in: &gateways[session, default: .init(session, stored)])
        for case .checked(let said) in entry.commands {
            let check = said.shortened
            results[check.last, default: [:]][session] = check
            if !check.name.isEmpty { gateways[session]?.name = check.name }
            if let sqlite = check.sqlite { gateways[session]?.sqlite = sqlite }
        }
        // What was said of an older mark may not have been seen.
        for case .hashed(let hash) in entry.commands where hash.mark > start {
            hashed[hash.mark, default: [:]][session] = stored.stamp
        }
    }

    /// As its first entry tells it; nil: that is purged, or none.
    private func name(ofSession session: Int64, _ journal: NatsJournal) async throws -> String? {
        guard session >= status.first,
            let opening = try await journal.read(after: session - 1).entries.first,
            opening.sequence == session, let entry = try? ClusterEntry(opening.bytes)
        else { return nil }
        return Self.name(entry)
    }

    /// Reports of entries that are skipped, or that their gateway has applied since.
    private mutating func removeSolved() {
        let (skipped, gateways) = (skipped, gateways)
        stuck.removeAll { report in
            skipped.contains(report.sequence)
                || gateways.contains {
                    $0.name == report.name && $0.entry - 1 - $0.behind >= report.sequence
                }
        }
    }

    private mutating func note(
        _ entry: ClusterEntry, _ stored: StoredEntry, in gateway: inout Gateway
    ) {
        gateway.entry = stored.sequence
        gateway.time = stored.stamp
        gateway.behind = stored.sequence - 1 - entry.base.sequence
        gateway.clock = stored.stamp.duration(to: entry.clock)
        if let name = Self.name(entry) { gateway.name = name }
        for case .lease(let request) in entry.commands {
            switch request.operation {
            case .claim: break
            case .renew(let grant):
                // A former holder's is refused.
                guard grant >= leases[request.role]?.grant ?? 0 else { continue }
                leases[request.role] = Renewal(
                    session: gateway.session, grant: grant, time: stored.stamp)
            case .release(let grant):
                guard grant == leases[request.role]?.grant else { continue }
                leases[request.role] = nil
            }
        }
    }

    private static func name(_ entry: ClusterEntry) -> String? {
        guard case .session(_, let name)? = entry.commands.first, !name.isEmpty else { return nil }
        return name.limited(to: ClusterLimits.nameBytes)
    }

    // MARK: Judging

    /// Whether a nats-server of this version is too old for a gateway.
    package static func isTooOld(_ version: String) -> Bool { JournalStream.isTooOld(version) }

    /// Those that have written within ``ClusterLimits/gatewaySilence`` of the newest entry.
    package var present: [Gateway] {
        guard let newest = gateways.map(\.time).max() else { return [] }
        return gateways.filter { $0.time.duration(to: newest) < ClusterLimits.gatewaySilence }
    }

    /// Those that were there at a mark, and have not said in time what their view held, nor later.
    package var silent: [Gateway] {
        present.filter { gateway in
            hashed.contains { mark, said in
                guard gateway.session < mark, let first = said.values.min() else { return false }
                return gateway.time >= first.advanced(by: ClusterLimits.hashWithin)
                    && !hashed.contains { $0 >= mark && $1[gateway.session] != nil }
            }
        }
    }

    /// What an operator should look at, each with what to do.
    package var problems: [RepriseError] { streamProblems + gatewayProblems + dataProblems }

    /// Of the journal's servers and its space.
    private var streamProblems: [RepriseError] {
        var problems: [RepriseError] = []
        if replicas < 3 {
            problems.append(
                RepriseError(
                    .badConfiguration,
                    "The journal is on \(replicas == 1 ? "1 server" : "\(replicas) servers").",
                    remedy: "On fewer than three it is lost with a disk: "
                        + "`nats stream edit \(stream) --replicas 3`"))
        }
        if !status.isLed {
            problems.append(
                RepriseError(
                    .unavailable, "The journal has no leader.",
                    remedy: "A majority of its servers must be there."))
        }
        for server in behind {
            let remedy = "Start it, or replace it, before another one fails."
            problems.append(
                RepriseError(
                    .unavailable, "\(server.name) \(server.state).",
                    remedy: server.isLost
                        ? remedy
                        : "If it has just been started, wait until it has all, and look again. "
                            + "If not: its log says why. " + remedy))
        }
        if let most = status.maxBytes, status.bytes * 100 >= most * 70 {
            problems.append(
                RepriseError(
                    .full, "The journal is full to \(status.bytes * 100 / most) %.",
                    remedy: "From \(ClusterLimits.publishFill) % on nothing is published: "
                        + "raise max_bytes."))
        }
        return problems
    }

    /// Of gateways that are behind, silent or stuck.
    private var gatewayProblems: [RepriseError] {
        var problems: [RepriseError] = []
        if let silence = gateways.map({ $0.time.duration(to: now) }).min(),
            silence >= ClusterLimits.gatewaySilence, !status.isSealed
        {
            problems.append(
                RepriseError(
                    .unavailable,
                    "No gateway has written for \(Int(silence / .seconds(1))) s.",
                    remedy: "Start one. If one runs, its log says why it does not."))
        }
        for gateway in present where abs(gateway.clock / .seconds(1)) > 60 {
            let name = gateway.name ?? "session \(gateway.session)"
            problems.append(
                RepriseError(
                    .badConfiguration, "The clock of \(name) is off by more than a minute.",
                    remedy: "Set the clocks of gateways and NATS by NTP."))
        }
        for gateway in silent {
            let name = gateway.name ?? "session \(gateway.session)"
            problems.append(
                RepriseError(
                    .unavailable,
                    "\(name) has not said what its view holds for "
                        + "\(Int(ClusterLimits.hashWithin / .seconds(1))) s.",
                    remedy: "Restart it. If all but one gateway are silent, no base is made, and "
                        + "the journal fills."))
        }
        for report in stuck {
            problems.append(
                RepriseError(
                    .internal,
                    "\(report.name) stands before entry \(report.sequence): "
                        + report.reason,
                    remedy: "If no gateway can apply it: `reprise cluster skip "
                        + "\(report.sequence)`. If others have, upgrade this one to their version, "
                        + "or else remove its view."))
        }
        return problems
    }

    /// Of what the journal holds, and what gateways have made of it.
    private var dataProblems: [RepriseError] {
        var problems: [RepriseError] = []
        if let differing = results.keys.sorted().lazy.compactMap({ Self.difference(results[$0]) })
            .first
        {
            problems.append(differing)
        }
        if status.isSealed {
            problems.append(
                RepriseError(
                    .badConfiguration, "The journal is sealed: its data was moved out.",
                    remedy: "Stop its gateways; when the data is safe elsewhere, remove its "
                        + "streams."))
        }
        if pastsDiffer {
            problems.append(
                RepriseError(
                    .corrupt, "Two gateways have applied another past.",
                    remedy: "Look at /readyz of each; remove the view of the one that is wrong."))
        }
        return problems
    }
}

extension ClusterInspection {
    /// The gateways whose results differ from those of most; nil: none.
    fileprivate static func difference(_ said: [Int64: ResultCheck]?) -> RepriseError? {
        guard let said, let any = said.values.first else { return nil }
        let groups = Dictionary(grouping: said.values, by: \.digest).values
            .map { $0.map(\.name).sorted() }
            .sorted { ($0.count, $1[0]) > ($1.count, $0[0]) }
        guard groups.count > 1 else { return nil }
        let others = groups.dropFirst().joined().joined(separator: ", ")
        return RepriseError(
            .corrupt,
            "From entry \(any.first) on \(others) came to other results than "
                + groups[0].joined(separator: ", ") + ".",
            remedy: groups[0].count > groups[1].count
                ? "Remove the view of \(others)."
                : "Remove the view of the one that is wrong; look at /readyz of each.")
    }
}

extension ClusterInspection.Gateway {
    fileprivate init(_ session: Int64, _ stored: StoredEntry) {
        self.init(
            session: session, name: nil, entry: stored.sequence, time: stored.stamp, behind: 0,
            clock: .zero)
    }
}
