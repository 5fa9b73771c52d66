/// What a device has to offer to work that can wait.
public struct DeviceConditions: Hashable, Sendable, Codable {
    /// Whether anything can be reached (`NWPath.status`).
    public var network: Bool
    /// Whether the network is not paid for by volume (`NWPath.isExpensive`, `isConstrained`).
    public var unmetered: Bool
    /// Whether it is charging or full (`UIDevice.batteryState`).
    public var charging: Bool
    /// How many bytes can be written (`volumeAvailableCapacityForOpportunisticUsage`).
    public var freeBytes: Int64

    /// Describes a device.
    ///
    /// - Parameters:
    ///   - network: whether anything can be reached.
    ///   - unmetered: whether the network is not paid for by volume.
    ///   - charging: whether it is charging or full.
    ///   - freeBytes: how many bytes can be written.
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

/// Says what the device has to offer, as a platform implements it: `NWPathMonitor`, `UIDevice`,
/// `URLResourceValues`.
public protocol DeviceStatus: Sendable {
    /// How it is now, then each change; ends with the task that reads it. A slow reader gets the
    /// newest.
    var conditions: AsyncStream<DeviceConditions> { get }
}
