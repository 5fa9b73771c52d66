package import Logging
package import RepriseCore

/// A server's access control: authentication, browser rules and TLS.
package struct AccessControl: Sendable {
    /// Authenticates clients; nil where access is open.
    package let authenticator: (any Authenticating)?
    /// Issues tokens, for development.
    package let issuer: TokenIssuer?
    package let browsers: BrowserRules
    /// Nil without TLS.
    package let certificate: ServerCertificate?
    private let keys: (any KeyProviding)?

    /// Opens keys and certificate.
    ///
    /// - Parameters:
    ///   - configuration: their locations.
    ///   - clock: the time.
    ///   - logger: receives the names of files, never their content.
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

    /// Reloads keys and certificate.
    package func reload() async {
        certificate?.reload()
        await keys?.reload()
    }
}

/// The key of a development server; it does not change while the server runs.
private struct DevelopmentKeys: KeyProviding {
    let key: SigningKey

    func key(for header: TokenHeader) async throws -> SigningKey? {
        KeySet([key]).key(for: header)
    }

    func reload() async {}
}
