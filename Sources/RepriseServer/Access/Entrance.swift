package import Logging
package import RepriseCore

/// All that stands between the network and a server: who may come in, from which pages, and over
/// what.
package struct Entrance: Sendable {
    /// Finds out who comes; nil where access is open.
    package let authenticator: (any Authenticating)?
    /// Makes tokens, where the server is for development.
    package let issuer: TokenIssuer?
    package let browsers: BrowserRules
    /// Nil without TLS.
    package let certificate: ServerCertificate?
    private let keys: (any KeyProviding)?

    /// Opens keys and certificate.
    ///
    /// - Parameters:
    ///   - configuration: says where they are.
    ///   - clock: tells the time.
    ///   - logger: is told what is read, never what it says.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, `.notWritable`.
    package init(
        _ configuration: ServerConfiguration, clock: any Timekeeper, logger: Logger
    ) async throws {
        try configuration.check()
        certificate = try configuration.tls.map { try ServerCertificate($0, logger: logger) }
        browsers = try BrowserRules(
            origins: configuration.origins,
            asksNobody: [.open, .tokens(.development)].contains(configuration.access))
        var issuer: TokenIssuer?
        switch configuration.access {
        case .open: keys = nil
        case .tokens(.file(let path)): keys = try await KeyFile(path, logger: logger)
        case .tokens(.jwks(let url)):
            let url = try KeySetURL(url)
            keys = RemoteKeys(clock: clock, logger: logger) { try await url.fetch() }
        case .tokens(.development):
            let key = try await DevelopmentKey.open(in: configuration.data)
            issuer = try TokenIssuer(key: key, audience: configuration.audience)
            keys = DevelopmentKeys(key: key)
        }
        self.issuer = issuer
        let rules = TokenRules(
            audience: configuration.audience, leeway: configuration.tokenLeeway)
        authenticator = keys.map { TokenAuthenticator(keys: $0, rules: rules, clock: clock) }
    }

    /// Reads keys and certificate again.
    package func reload() async {
        certificate?.reload()
        await keys?.reload()
    }
}

/// The one key of a server for development; it does not change while the server runs.
private struct DevelopmentKeys: KeyProviding {
    let key: SigningKey

    func key(for header: TokenHeader) async throws -> SigningKey? {
        KeySet([key]).key(for: header)
    }

    func reload() async {}
}
