/// The conditions of a device for deferrable work.
public struct DeviceConditions: Hashable, Sendable, Codable {
    /// Whether a network is reachable (`NWPath.status`).
    public var network: Bool
    /// Whether the network is unmetered (`NWPath.isExpensive`, `isConstrained`).
    public var unmetered: Bool
    /// Whether it is charging or full (`UIDevice.batteryState`).
    public var charging: Bool
    /// How many bytes are free to write (`volumeAvailableCapacityForOpportunisticUsage`).
    public var freeBytes: Int64

    /// Describes a device.
    ///
    /// - Parameters:
    ///   - network: whether a network is reachable.
    ///   - unmetered: whether the network is unmetered.
    ///   - charging: whether it is charging or full.
    ///   - freeBytes: how many bytes are free to write.
    public init(
        network: Bool = true, unmetered: Bool = true, charging: Bool = true,
        freeBytes: Int64 = .max
    ) {
        self.network = network
        self.unmetered = unmetered
        self.charging = charging
        self.freeBytes = freeBytes
    }
}

/// Reports the device's conditions, as a platform implements it: `NWPathMonitor`, `UIDevice`,
/// `URLResourceValues`.
public protocol DeviceStatus: Sendable {
    /// The current conditions, then each change; ends with the task that reads it. A slow reader
    /// gets the newest.
    var conditions: AsyncStream<DeviceConditions> { get }
}
