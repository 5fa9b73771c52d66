/// The way to the network, as a platform sees it.
public struct NetworkPath: Hashable, Sendable {
    /// Whether anything can be reached.
    public var isUsable: Bool
    /// What it goes over (`wifi`, `cellular`, …), so that a change from one to the other is seen;
    /// nil if that is not known.
    public var interface: String?

    /// Describes a way.
    ///
    /// - Parameters:
    ///   - isUsable: whether anything can be reached.
    ///   - interface: what it goes over.
    public init(isUsable: Bool, interface: String? = nil) {
        self.isUsable = isUsable
        self.interface = interface
    }
}

/// Says when the network goes and comes, as a platform implements it: `NWPathMonitor` on Apple
/// systems.
public protocol NetworkStatus: Sendable {
    /// How it is now, then each change; ends with the task that reads it.
    var paths: AsyncStream<NetworkPath> { get }
}
