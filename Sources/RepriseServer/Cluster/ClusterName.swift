import RepriseCore

/// The name of a cluster: several may share their servers of NATS.
package struct ClusterName: Hashable, Sendable {
    package let text: String

    /// - Parameter text: 1 to 32 lowercase letters, digits and `-`.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    package init(_ text: String) throws {
        let letters = Set("abcdefghijklmnopqrstuvwxyz0123456789-")
        guard (1...32).contains(text.count), text.allSatisfy(letters.contains) else {
            throw RepriseError(
                .badConfiguration,
                "A cluster's name has 1 to 32 lowercase letters, digits and hyphens.",
                remedy: "As in --cluster chat.")
        }
        self.text = text
    }
}
