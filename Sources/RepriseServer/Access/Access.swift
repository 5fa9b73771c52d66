/// Who may come in.
public enum Access: Hashable, Sendable {
    /// Whoever reaches the server, without a name, may do everything: for tests, benchmarks and
    /// simulation on one machine.
    case open
    /// Whoever has a JSON Web Token that one of these keys has signed.
    case tokens(KeySource)
}

/// Where the keys come from that tokens are signed with.
public enum KeySource: Hashable, Sendable {
    /// A file with a JSON Web Key Set, a PEM public key, or a base64 secret; read again when the
    /// server is told to reload.
    case file(String)
    /// The URL of a JSON Web Key Set; read again when a token names a key that is not known.
    case jwks(String)
    /// A key made in the data folder, with which the server issues tokens to whoever asks on this
    /// machine.
    case development
}
