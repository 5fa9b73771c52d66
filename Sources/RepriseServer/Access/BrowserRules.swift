import RepriseCore
import RepriseWire

/// Rules for web pages that use a server through the browser of a user who can reach it.
///
/// A browser lets any page open a WebSocket to any address and names the page in `Origin`; a page
/// whose name resolves to this server (DNS rebinding) even counts as same-origin. Without cookies a
/// page gains nothing where tokens are required; under open access these rules are the only
/// protection.
package struct BrowserRules: Hashable, Sendable {
    private let origins: Set<String>
    /// Only names that cannot be rebound count as the server's own.
    private let knowsOwnName: Bool

    /// Makes rules.
    ///
    /// - Parameters:
    ///   - origins: pages from these may connect, such as `https://chat.example.org`.
    ///   - asksNobody: whether access is open, or tokens are given to any client.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for an invalid origin.
    package init(origins: [String], asksNobody: Bool) throws {
        self.origins = try Set(
            origins.map { text in
                guard let origin = Self.normal(text) else {
                    throw RepriseError(
                        .badConfiguration, "An origin is a scheme and a host.",
                        remedy: "It looks like https://chat.example.org, without a path.")
                }
                return origin
            })
        knowsOwnName = asksNobody
    }

    /// Checks a request's origin.
    ///
    /// - Parameters:
    ///   - found: its `Origin` headers; requests without a page have none.
    ///   - host: its `Host`.
    ///   - isSecure: whether it came over TLS.
    ///   - mustBeOurs: whether it changes something or opens a connection. A foreign page cannot
    ///     read the answer of other requests: it has no `Access-Control` headers.
    /// - Returns: the reason of a refusal; nil if the request is allowed.
    package func refusal(
        origins found: [String], host: String?, isSecure: Bool, mustBeOurs: Bool
    ) -> String? {
        if knowsOwnName, let host, !isOurName(host) {
            return "This server answers to localhost, and to hosts of reprise serve --origin; with "
                + "--keys or --jwks to any."
        }
        guard mustBeOurs, !found.isEmpty else { return nil }
        guard found.count == 1, let origin = Self.normal(found[0]),
            origins.contains(origin) || origin == own(host, isSecure)
        else { return "Pages of this origin may not use this server: reprise serve --origin." }
        return nil
    }

    private func own(_ host: String?, _ isSecure: Bool) -> String? {
        host.flatMap { Self.normal((isSecure ? "https://" : "http://") + $0) }
    }

    /// The owner of a name, or an attacker in the local network, can make it resolve to this
    /// server.
    private func isOurName(_ host: String) -> Bool {
        guard let name = Self.name(host) else { return false }
        return LoopbackName.isOne(name) || Self.isAddress(name)
            || origins.contains { Self.host($0) == name }
    }

    /// Scheme, host and non-default port, in lower case.
    private static func normal(_ text: String) -> String? {
        let text = text.lowercased()
        guard let mark = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<mark.lowerBound]
        let rest = text[mark.upperBound...]
        guard scheme == "http" || scheme == "https", let name = name(String(rest)) else {
            return nil
        }
        let port = rest.dropFirst(name.count + (rest.first == "[" ? 2 : 0)).dropFirst()
        let usual = scheme == "https" ? "443" : "80"
        let shown = name.contains(":") ? "[\(name)]" : name
        return "\(scheme)://\(shown)" + (port.isEmpty || port == usual ? "" : ":\(port)")
    }

    private static func host(_ origin: String) -> String? {
        origin.firstRange(of: "://").flatMap { name(String(origin[$0.upperBound...])) }
    }

    /// The name of `name:port`, an IPv6 address without its brackets.
    private static func name(_ authority: String) -> String? {
        let text = authority.lowercased()
        let name: Substring
        let rest: Substring
        if text.first == "[" {
            guard let close = text.firstIndex(of: "]") else { return nil }
            name = text[text.index(after: text.startIndex)..<close]
            rest = text[text.index(after: close)...]
        } else {
            name = text.prefix { $0 != ":" }
            rest = text[name.endIndex...]
        }
        let port = rest.dropFirst()
        guard !name.isEmpty, rest.isEmpty || rest.first == ":",
            port.isEmpty || UInt16(port) != nil,
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"/?#@\\[]".utf8.contains($0) })
        else { return nil }
        return String(name)
    }

    private static func isAddress(_ name: String) -> Bool {
        if name.contains(":") { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }
}
