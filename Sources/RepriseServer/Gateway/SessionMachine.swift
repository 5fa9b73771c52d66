package import RepriseCore

/// Decides which user a connection has, and until when: `unknown → asking → known ⇄ asking`.
package struct SessionMachine: Sendable {
    /// The effect of a token's authentication on the connection.
    package enum Outcome: Equatable, Sendable {
        /// The user is known now.
        case begins
        /// The same user has a fresh token; nothing else changes.
        case goesOn
        /// What the peer is told, with what to do about it.
        case refused(RepriseError.Code, String)
    }

    /// The authenticated user; nil before.
    package private(set) var principal: Principal?
    /// Whether a token is being authenticated; requests wait for the result.
    package private(set) var isAsking = false
    /// The uptime at which the token expires.
    package private(set) var ends: Duration?

    package init() {}

    /// A token, or a hello without one, has arrived.
    package mutating func askingBegan() { isAsking = true }

    /// The token's authentication has ended.
    ///
    /// - Parameters:
    ///   - answer: the authenticator's answer.
    ///   - ends: the uptime at which the token expires.
    /// - Returns: its effect.
    package mutating func answered(
        _ answer: Result<Principal, RepriseError>, ends: Duration?
    ) -> Outcome {
        isAsking = false
        switch answer {
        case .failure(let error):
            return .refused(error.code, error.messageAndRemedy)
        case .success(let next):
            if let principal, principal.user != next.user {
                return .refused(
                    .unauthorized,
                    "The fresh token is another user's. Connect again to change the user.")
            }
            let isKnown = principal != nil
            principal = next
            self.ends = ends
            return isKnown ? .goesOn : .begins
        }
    }

    /// Whether the token has expired, and no other is being authenticated.
    package func hasEnded(now: Duration) -> Bool {
        guard !isAsking, let ends else { return false }
        return now >= ends
    }
}
