import Foundation
import RepriseCore

/// A strictly parsed URL: every transport reads the same host from it.
struct WebAddress: Hashable, Sendable {
    let isSecure: Bool
    /// In lower case; an IPv6 address without its brackets.
    let host: String
    let port: Int
    /// Path and query, beginning with a slash.
    let target: String

    /// - Throws: ``RepriseCore/RepriseError`` `.addressRefused`.
    init(_ text: String) throws {
        let bytes = text.utf8
        guard bytes.count <= WorkerLimits.url else { throw Self.refused(text, "it is too long") }
        // A backslash is a slash to some; a space or a line's end splits the request.
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }) else {
            throw Self.refused(text, "it holds a character that a URL does not")
        }
        guard let colon = text.firstRange(of: "://") else {
            throw Self.refused(text, "it has no host")
        }
        switch text[..<colon.lowerBound].lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        default: throw Self.refused(text, "only http and https are spoken")
        }
        let rest = text[colon.upperBound...]
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        (host, port) = try Self.authority(rest[..<end], of: text, usual: isSecure ? 443 : 80)
        let path = rest[end...].prefix { $0 != "#" }
        target = path.first == "/" ? String(path) : "/" + path
        // The transports read it by Foundation: it must read the same.
        guard let seen = URL(string: self.text), let name = seen.host(), seen.user() == nil,
            name.lowercased().trimmingCharacters(in: ["[", "]"]) == host,
            seen.port ?? (isSecure ? 443 : 80) == port
        else { throw Self.refused(text, "it can be read in two ways") }
    }

    /// The URL again, without a fragment.
    var text: String { "\(origin)\(target)" }

    /// Scheme, host and port.
    var origin: String {
        let name = host.contains(":") ? "[\(host)]" : host
        let usual = port == (isSecure ? 443 : 80)
        return "\(isSecure ? "https" : "http")://\(name)\(usual ? "" : ":\(port)")"
    }

    /// Resolves a `Location` relative to this URL (RFC 3986 §5).
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.addressRefused`.
    func following(_ location: String) throws -> WebAddress {
        let place = location.trimmingCharacters(in: .whitespaces)
        if place.contains("://"), let colon = place.firstIndex(of: ":"),
            place[..<colon].allSatisfy({ $0.isLetter })
        {
            return try WebAddress(place)
        }
        guard place.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }),
            let base = URL(string: text),
            let next = URL(string: place, relativeTo: base)?.absoluteString
        else { throw Self.refused(location, "it leads nowhere") }
        return try WebAddress(next)
    }

    private static func authority(
        _ text: Substring, of url: String, usual: Int
    ) throws -> (host: String, port: Int) {
        guard !text.contains("@") else {
            throw refused("…", "it holds a user's name, which ends up in logs")
        }
        var (host, port) = (text, Substring?.none)
        if text.first == "[" {
            guard let close = text.firstIndex(of: "]") else { throw refused(url, "it has no host") }
            host = text[text.index(after: text.startIndex)..<close]
            let behind = text[text.index(after: close)...]
            guard behind.isEmpty || behind.first == ":",
                NetworkAddress(String(host))?.bytes.count == 16
            else { throw refused(url, "its host is no IPv6 address") }
            if !behind.isEmpty { port = behind.dropFirst() }
        } else {
            if let colon = text.firstIndex(of: ":") {
                (host, port) = (text[..<colon], text[text.index(after: colon)...])
            }
            try checkName(host, of: url)
        }
        guard let port else { return (host.lowercased(), usual) }
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port),
            number > 0
        else { throw refused(url, "its port is no number") }
        return (host.lowercased(), Int(number))
    }

    private static func checkName(_ host: Substring, of url: String) throws {
        let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789-._".utf8)
        guard !host.isEmpty, host.utf8.count <= 253,
            host.lowercased().utf8.allSatisfy(allowed.contains)
        else {
            throw refused(url, "its host is no name; write an international one in its xn-- form")
        }
        // 2130706433, 0x7f.1 and 0177.0.0.1 are 127.0.0.1 to some resolvers (WHATWG URL, "ends in a
        // number").
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        let last = labels.last { !$0.isEmpty } ?? ""
        let isNumber = last.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber || last.lowercased().hasPrefix("0x") else { return }
        guard labels.count == 4,
            labels.allSatisfy({
                UInt8($0) != nil && ($0 == "0" || $0.first != "0") && $0.first != "+"
            })
        else { throw refused(url, "its host is a number in disguise") }
    }

    private static func refused(_ url: String, _ why: String) -> RepriseError {
        // A query may hold a secret.
        let shown = String(url.prefix { $0 != "?" }.prefix(200))
        return RepriseError(
            .addressRefused, "\(String(reflecting: shown)) is not asked: \(why).",
            remedy: "It looks like https://example.org/file.")
    }
}
