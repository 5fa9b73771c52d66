package import RepriseCore

/// Decides whether a base may count: by what the gateways say that their views held at its mark.
///
/// A gateway that is killed between a mark and its hash never tells it: the view of the mark is
/// gone. Since it is there, who made the base is not alone: it sets another mark.
///
/// ```swift
/// agreement.wrote(session, at: sequence)
/// agreement.looked(own)
/// agreement.heard(own, from: session, isOwn: true)
/// if try agreement.allows(own, isLate: false) { writeManifest() }
/// ```
package struct BaseAgreement: Sendable {
    /// What gateways said, by their sessions.
    private var said: [Int64: ViewHash] = [:]
    /// The last entries of other gateways behind the newest mark, by their sessions.
    private var written: [Int64: Int64] = [:]
    /// The names of gateways, for people, by their sessions.
    private var names: [Int64: String] = [:]
    /// The newest mark of which this gateway's own hash is not back, and since when it owes one.
    private var owed: (mark: Int64, since: Duration)?
    /// The session by which this gateway said something last.
    private var ownSession: Int64?
    /// What this view held at the newest mark.
    package private(set) var mine: ViewHash?

    package init() {}

    /// This view is hashed as it was at a mark.
    package mutating func looked(_ own: ViewHash) {
        mine = own
        said = said.filter { $0.value.mark >= own.mark }
        written = written.filter { $0.value > own.mark }
    }

    /// A mark is applied: every gateway owes what its view holds there.
    package mutating func marked(at sequence: Int64, now: Duration) {
        owed = (sequence, owed?.since ?? now)
    }

    /// How long this gateway has owed that; zero once its hash of the newest mark is back.
    package func owing(now: Duration) -> Duration { owed.map { now - $0.since } ?? .zero }

    /// A gateway says its name.
    package mutating func named(_ session: Int64, _ name: String) {
        if names.count >= ClusterLimits.sessions { names = [:] }
        if !name.isEmpty { names[session] = name.limited(to: 64) }
    }

    /// An entry of another gateway counts: it is there.
    package mutating func wrote(_ session: Int64, at sequence: Int64) {
        if written.count >= ClusterLimits.sessions { written = [:] }
        written[session] = sequence
    }

    /// An entry is applied in which a gateway says what its view held.
    package mutating func heard(_ hash: ViewHash, from session: Int64, isOwn: Bool) {
        if said.count >= ClusterLimits.sessions { said = [:] }
        said[session] = hash
        guard isOwn else { return }
        ownSession = session
        if let owed, hash.mark >= owed.mark { self.owed = nil }
    }

    /// How many gateways have said something of the newest mark, and how many the same as this
    /// one; nil until this gateway's own hash is back, so that it counts among the others.
    package var comparison: (mark: Int64, equal: Int, all: Int)? {
        guard let mine, let ownSession, said[ownSession] == mine else { return nil }
        let all = said.values.filter { $0.mark == mine.mark }
        return (mine.mark, all.count { $0.hash == mine.hash }, all.count)
    }

    /// Whether a base counts: once another gateway had the same, or none is there in time.
    ///
    /// - Parameters:
    ///   - hash: what this view held at the base's mark.
    ///   - isLate: whether ``ClusterLimits/hashWithin`` is over.
    /// - Returns: false while it has to wait.
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if views differ; `.unavailable` if another
    ///   gateway has written since the mark, and none has said in time what its view held.
    package func allows(_ hash: ViewHash, isLate: Bool) throws(RepriseError) -> Bool {
        let all = said.values.filter { $0.mark == hash.mark }
        guard all.allSatisfy({ $0.hash == hash.hash }) else {
            throw RepriseError(.corrupt, "The views of gateways differ.")
        }
        // One of them is this gateway's own.
        if all.count > 1 { return true }
        guard isLate else { return false }
        let silent = written.filter { $1 > hash.mark && said[$0]?.mark != hash.mark }.keys.sorted()
        guard silent.isEmpty else {
            let found = silent.prefix(4).map { names[$0] ?? "session \($0)" }
            throw RepriseError(
                .unavailable,
                "No other gateway has said what its view held at entry \(hash.mark), and there are "
                    + "others: \(found.joined(separator: ", ")).",
                remedy: "Nothing: another base is tried. If it stays so, restart them.")
        }
        return true
    }
}
