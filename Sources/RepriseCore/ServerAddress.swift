import Foundation

/// The address of a server, as an app configures it.
package enum ServerAddress {
    /// Rejects an address that can never be dialled, before anything is opened.
    ///
    /// - Throws: ``RepriseError`` `.badAddress`.
    package static func check(_ address: String) throws {
        guard !address.isEmpty else { throw bad("The address of the server is empty.") }
        let shown = "“\(address.limited(to: 200))”"
        guard !address.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7f }),
            let parts = URLComponents(string: address)
        else { throw bad("\(shown) is no address.") }
        guard let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme) else {
            throw bad("\(shown) does not begin with http:// or https://.")
        }
        guard let host = parts.host, !host.isEmpty else { throw bad("\(shown) names no host.") }
        guard (1...65_535).contains(parts.port ?? 1) else {
            throw bad("\(shown) names a port that does not exist.")
        }
        guard parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil
        else { throw bad("\(shown) has more than scheme, host, port and path.") }
    }

    private static func bad(_ what: String) -> RepriseError {
        RepriseError(
            .badAddress, what,
            remedy: "Name it with scheme and host, as https://chat.example.org.")
    }
}
