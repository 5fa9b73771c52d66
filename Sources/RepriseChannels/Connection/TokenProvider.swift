import RepriseCore
public import RepriseWire

/// The source of tokens: the app, which asks its own backend.
///
/// ```swift
/// let tokens: TokenProvider = { request in
///     try AccessToken(try await backend.token(for: request.user, fresh: request.reason != .first))
/// }
/// ```
///
/// It is asked for one token at a time: before the first connection, when a token nears its end,
/// and when the server has refused one. Its timeout is 30 s. ``ConnectionState`` shows its error,
/// and it is called again with backoff; the open connection stays open meanwhile. If it throws
/// ``RepriseCore/RepriseError`` `.unauthorized`, only a person can help: the client stops until
/// ``Channels/reconnect()``.
public typealias TokenProvider = @Sendable (TokenRequest) async throws -> AccessToken

/// The circumstances of a request for a token.
public struct TokenRequest: Hashable, Sendable {
    /// The reason for the request.
    public enum Reason: Hashable, Sendable {
        /// The first token.
        case first
        /// The previous one ends, or has ended.
        case expires
        /// The server has refused the previous one: a cached copy of it will not do.
        case refused
    }

    /// The token's user.
    public let user: UserID
    /// The reason for the request.
    public let reason: Reason

    package init(user: UserID, reason: Reason) {
        self.user = user
        self.reason = reason
    }
}

/// The signed-in user, and the source of this user's tokens.
public struct Identity: Sendable {
    /// The user: the client rejects tokens of any other user itself.
    public let user: UserID
    /// The source of tokens.
    public let tokens: TokenProvider

    /// Names a user.
    ///
    /// - Parameters:
    ///   - user: the `sub` of the tokens.
    ///   - tokens: their source.
    public init(user: UserID, tokens: @escaping TokenProvider) {
        self.user = user
        self.tokens = tokens
    }
}
