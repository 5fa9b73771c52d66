/// The network path, as a platform sees it.
public struct NetworkPath: Hashable, Sendable {
    /// Whether a network is reachable.
    public var isUsable: Bool
    /// The interface (`wifi`, `cellular`, …), so that a change between two is noticed; nil if
    /// unknown.
    public var interface: String?

    /// Describes a path.
    ///
    /// - Parameters:
    ///   - isUsable: whether a network is reachable.
    ///   - interface: the interface.
    public init(isUsable: Bool, interface: String? = nil) {
        self.isUsable = isUsable
        self.interface = interface
    }
}

/// Reports when the network goes and comes, as a platform implements it: `NWPathMonitor` on Apple
/// systems.
public protocol NetworkStatus: Sendable {
    /// The current path, then each change; ends with the task that reads it.
    var paths: AsyncStream<NetworkPath> { get }
}
