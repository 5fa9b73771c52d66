// Not run by the project's own tests, which run on Linux; compiled only with Network.framework.
#if canImport(Network)
    import Dispatch
    import Network
    public import RepriseCore

    /// The system's network status, by `NWPathMonitor`.
    ///
    /// ```swift
    /// configuration.channels.network = SystemNetwork()
    /// ```
    public struct SystemNetwork: NetworkStatus {
        /// Makes one.
        public init() {}

        /// The current path, then each change.
        public var paths: AsyncStream<NetworkPath> {
            AsyncStream(bufferingPolicy: .bufferingNewest(16)) { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { path in
                    continuation.yield(
                        NetworkPath(
                            isUsable: path.status == .satisfied,
                            interface: path.availableInterfaces.first?.name))
                }
                continuation.onTermination = { _ in monitor.cancel() }
                monitor.start(queue: .global())
            }
        }
    }
#endif
