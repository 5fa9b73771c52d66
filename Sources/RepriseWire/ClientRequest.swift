/// A client's frame, with the data that the server needs to answer it.
package struct ClientRequest: Hashable, Sendable {
    /// The frame, without the names that violate the rules.
    package let frame: ClientFrame
    /// The number that the answers to a `subscribe` repeat; nil if it has none.
    package let number: Int64?
    /// The answers to the names that violate the rules, at most
    /// ``WireLimits/channelsPerConnection``.
    package let refused: [ServerFrame.Refused]

    package init(
        _ frame: ClientFrame, number: Int64? = nil, refused: [ServerFrame.Refused] = []
    ) {
        self.frame = frame
        self.number = number
        self.refused = refused
    }
}
