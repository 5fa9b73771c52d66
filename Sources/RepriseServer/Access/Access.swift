/// How clients authenticate.
public enum Access: Hashable, Sendable {
    /// Without authentication, every client may do everything: for tests, benchmarks and simulation
    /// on one machine.
    case open
    /// By a JSON Web Token that one of these keys has signed.
    case tokens(KeySource)
}

/// The source of the keys that sign tokens.
public enum KeySource: Hashable, Sendable {
    /// A file with a JSON Web Key Set, a PEM public key, or a base64 secret; reloaded when the
    /// server is told to.
    case file(String)
    /// The URL of a JSON Web Key Set; fetched again when a token names an unknown key.
    case jwks(String)
    /// A key made in the data folder, with which the server issues tokens to any client on this
    /// machine.
    case development
}
