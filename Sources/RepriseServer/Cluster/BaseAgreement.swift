package import RepriseCore

/// Decides whether a base may count: by what the gateways say that their views held at its mark.
///
/// ```swift
/// agreement.looked(own)
/// agreement.heard(own, from: session, isOwn: true)
/// if try agreement.allows(own, isLate: false) { writeManifest() }
/// ```
package struct BaseAgreement: Sendable {
    /// What gateways said, by their sessions.
    private var said: [Int64: ViewHash] = [:]
    /// The session by which this gateway said something last.
    private var ownSession: Int64?
    /// What this view held at the newest mark.
    package private(set) var mine: ViewHash?

    package init() {}

    /// This view is hashed as it was at a mark.
    package mutating func looked(_ own: ViewHash) {
        mine = own
        said = said.filter { $0.value.mark >= own.mark }
    }

    /// An entry is applied in which a gateway says what its view held.
    package mutating func heard(_ hash: ViewHash, from session: Int64, isOwn: Bool) {
        if said.count >= ClusterLimits.sessions { said = [:] }
        said[session] = hash
        if isOwn { ownSession = session }
    }

    /// How many gateways have said something of the newest mark, and how many the same as this
    /// one; nil until this gateway's own hash is back, so that it counts among the others.
    package var comparison: (mark: Int64, equal: Int, all: Int)? {
        guard let mine, let ownSession, said[ownSession] == mine else { return nil }
        let all = said.values.filter { $0.mark == mine.mark }
        return (mine.mark, all.count { $0.hash == mine.hash }, all.count)
    }

    /// Whether a base counts: once another gateway had the same, or none has said anything in time.
    ///
    /// - Parameters:
    ///   - hash: what this view held at the base's mark.
    ///   - isLate: whether ``ClusterLimits/hashWithin`` is over.
    /// - Returns: false while it has to wait.
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if views differ.
    package func allows(_ hash: ViewHash, isLate: Bool) throws(RepriseError) -> Bool {
        let all = said.values.filter { $0.mark == hash.mark }
        guard all.allSatisfy({ $0.hash == hash.hash }) else {
            throw RepriseError(.corrupt, "The views of gateways differ.")
        }
        // One of them is this gateway's own.
        return all.count > 1 || isLate
    }
}
