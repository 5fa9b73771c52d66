import RepriseCore
public import RepriseWire

/// Where tokens come from: the app, which asks its own backend.
///
/// ```swift
/// let tokens: TokenProvider = { request in
///     try AccessToken(try await backend.token(for: request.user, fresh: request.reason != .first))
/// }
/// ```
///
/// It is asked for one token at a time: before the first connection, when a token nears its end,
/// and when the server has refused one. It has 30 s. What it throws is shown in ``ConnectionState``
/// and tried again with backoff; the open connection stays open meanwhile. If it throws
/// ``RepriseCore/RepriseError`` `.unauthorized`, nothing but a person can help: the client stops
/// until ``Channels/reconnect()``.
public typealias TokenProvider = @Sendable (TokenRequest) async throws -> AccessToken

/// What a token is asked for.
public struct TokenRequest: Hashable, Sendable {
    /// Why.
    public enum Reason: Hashable, Sendable {
        /// There is none yet.
        case first
        /// The one before ends, or has ended.
        case expires
        /// The server has refused the one before: a copy of it from a cache will not do.
        case refused
    }

    /// Whose token.
    public let user: UserID
    /// Why.
    public let reason: Reason

    package init(user: UserID, reason: Reason) {
        self.user = user
        self.reason = reason
    }
}

/// Who is signed in, and where this user's tokens come from.
public struct Identity: Sendable {
    /// The user: a token of anybody else is refused on this side already.
    public let user: UserID
    /// Where tokens come from.
    public let tokens: TokenProvider

    /// Names a user.
    ///
    /// - Parameters:
    ///   - user: the `sub` of the tokens.
    ///   - tokens: where they come from.
    public init(user: UserID, tokens: @escaping TokenProvider) {
        self.user = user
        self.tokens = tokens
    }
}
