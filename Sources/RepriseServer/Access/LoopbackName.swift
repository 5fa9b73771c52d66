/// Recognises names of this machine without a resolver, whose answer can change.
package enum LoopbackName {
    /// Whether `host` means this machine.
    ///
    /// - Parameter host: a name or an address; an IPv6 address with or without its brackets.
    /// - Returns: true for `localhost`, `127.0.0.0/8` and `::1`.
    package static func isOne(_ host: some StringProtocol) -> Bool {
        let name = host.lowercased()
        if ["localhost", "::1", "[::1]"].contains(name) { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy {
                UInt8($0) != nil && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }
    }
}
