package import RepriseCore

/// Decides whom a connection belongs to, and until when: `unknown → asking → known ⇄ asking`.
package struct SessionMachine: Sendable {
    /// What the answer about a token means for the connection.
    package enum Outcome: Equatable, Sendable {
        /// It is known now.
        case begins
        /// The same user has a fresh token; all else stays.
        case goesOn
        case refused(RepriseError.Code, String)
    }

    /// Who it is; nil as long as nobody knows.
    package private(set) var principal: Principal?
    /// Whether a token is being looked at; what comes meanwhile waits, and is judged by what comes
    /// of it.
    package private(set) var isAsking = false
    /// The uptime at which the token stops to count.
    package private(set) var ends: Duration?

    package init() {}

    /// A token, or a hello without one, has come.
    package mutating func askingBegan() { isAsking = true }

    /// What there is to know about the token is known.
    ///
    /// - Parameters:
    ///   - answer: what the authenticator says.
    ///   - ends: the uptime at which it stops to count.
    /// - Returns: what it means.
    package mutating func answered(
        _ answer: Result<Principal, RepriseError>, ends: Duration?
    ) -> Outcome {
        isAsking = false
        switch answer {
        case .failure(let error):
            return .refused(error.code, error.message)
        case .success(let next):
            if let principal, principal.user != next.user {
                return .refused(.unauthorized, "The fresh token is another user's.")
            }
            let isKnown = principal != nil
            principal = next
            self.ends = ends
            return isKnown ? .goesOn : .begins
        }
    }

    /// Whether the token has ended, and no other is being looked at.
    package func hasEnded(now: Duration) -> Bool {
        guard !isAsking, let ends else { return false }
        return now >= ends
    }
}
