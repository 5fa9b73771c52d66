import RepriseCore

/// The address to dial: the parts of a URL that a WebSocket handshake needs.
///
/// ```swift
/// try Endpoint("http://127.0.0.1:8080/v1/connect").host  // "127.0.0.1"
/// ```
package struct Endpoint: Hashable, Sendable {
    /// A name, an IPv4 address, or an IPv6 address without its brackets.
    package let host: String
    package let port: Int
    /// Whether it speaks TLS.
    package let isSecure: Bool
    /// Path and query, as in the request line.
    package let target: String

    /// Reads a URL.
    ///
    /// - Parameter url: `ws://`, `http://`, `wss://` or `https://`, a host, and where needed a
    ///   port, a path and a query.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    package init(_ url: String) throws {
        guard let (scheme, rest) = Self.split(url, at: "://") else { throw Self.unusable(url) }
        switch scheme.lowercased() {
        case "ws", "http": isSecure = false
        case "wss", "https": isSecure = true
        default: throw Self.unusable(url)
        }
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        (host, port) = try Self.authority(
            rest[..<end], of: url, usualPort: isSecure ? 443 : 80)
        let path = rest[end...].prefix { $0 != "#" }
        guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { throw Self.unusable(url) }
        target = path.first == "/" ? String(path) : "/" + path
    }

    /// As in the `Host` header: with the brackets of IPv6, and the port unless it is the default.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    private static func authority(
        _ text: Substring, of url: String, usualPort: Int
    ) throws -> (host: String, port: Int) {
        var host = text
        var port: Substring?
        if text.first == "[" {
            guard let close = text.firstIndex(of: "]") else { throw unusable(url) }
            host = text[text.index(after: text.startIndex)..<close]
            let behind = text[text.index(after: close)...]
            guard behind.isEmpty || behind.first == ":" else { throw unusable(url) }
            if !behind.isEmpty { port = behind.dropFirst() }
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        // User names and passwords in URLs end up in logs and process lists; none is accepted.
        guard !host.isEmpty,
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"@[]".utf8.contains($0) })
        else { throw unusable(url) }
        guard let port else { return (String(host), usualPort) }
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port),
            number > 0
        else { throw unusable(url) }
        return (String(host), Int(number))
    }

    private static func split(_ text: String, at mark: String) -> (Substring, Substring)? {
        guard let range = text.firstRange(of: mark) else { return nil }
        return (text[..<range.lowerBound], text[range.upperBound...])
    }

    private static func unusable(_ url: String) -> RepriseError {
        RepriseError(
            .badConfiguration, "This is not the URL of a server: \(url).",
            remedy: "It looks like http://127.0.0.1:8080.")
    }
}

extension Endpoint: CustomStringConvertible {
    /// The URL, for people.
    package var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}
