import RepriseCore

/// Where NATS is, and who the gateway is to it.
package struct NatsConfiguration: Hashable, Sendable {
    /// How the gateway proves who it is.
    package enum Credentials: Hashable, Sendable {
        case none
        case password(user: String, password: String)
        case token(String)
        /// The path of a file with the seed of a key, as `nk -gen user` writes it.
        case key(seedFile: String)
        /// The path of a file with a JWT and a seed, as `nsc generate creds` writes it.
        case file(String)
    }

    /// The servers, at least one, as `nats://host:4222`; one that is reached names the others.
    package var servers: [String]
    package var credentials = Credentials.none
    /// The path of the authorities' certificates, if not those of the system.
    package var authorities: String?
    /// The paths of a certificate and its key, if the server asks for one.
    package var certificate: (chain: String, key: String)? {
        get { chain.flatMap { chain in key.map { (chain, $0) } } }
        set { (chain, key) = (newValue?.chain, newValue?.key) }
    }
    private var chain: String?
    private var key: String?
    /// Whether TLS is required: it is where a server's address begins with `tls://`, too.
    package var requiresTLS = false

    /// Takes the addresses as the command line has them.
    ///
    /// - Parameter text: `nats://n1:4222,nats://n2:4222` or `nats://n1:4222,n2,n3`; a user and a
    ///   password may stand in the first: `nats://user:password@n1`.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    package init(_ text: String) throws {
        var scheme: Substring = ""
        servers = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let address: Substring
            if let end = part.firstRange(of: "://") {
                (scheme, address) = (part[..<end.lowerBound], part[end.upperBound...])
            } else {
                address = part
            }
            let host = address.drop { $0 != "@" }.isEmpty ? address : address.split("@").1
            guard ["nats", "tls"].contains(scheme), !host.isEmpty,
                host.allSatisfy({ $0.isASCII && !$0.isWhitespace && $0 != "/" && $0 != "@" })
            else {
                throw RepriseError(
                    .badConfiguration, "The journal is at nats://HOST:PORT, or several of them.",
                    remedy: "As in --log nats://n1:4222,n2:4222,n3:4222; tls:// asks for TLS.")
            }
            if scheme == "tls" { requiresTLS = true }
            if host.count < address.count {
                let (user, password) = address.dropLast(host.count + 1).split(":")
                credentials = .password(user: String(user), password: String(password))
            }
            servers.append("\(scheme)://\(host)")
        }
    }

    /// The servers without what is secret.
    package var description: String { servers.joined(separator: ",") }
}

extension Substring {
    /// What is before and behind the first such character; all of it is before, if there is none.
    fileprivate func split(_ separator: Character) -> (Substring, Substring) {
        guard let place = firstIndex(of: separator) else { return (self, "") }
        return (self[..<place], self[index(after: place)...])
    }
}
