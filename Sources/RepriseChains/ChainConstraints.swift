public import RepriseCore

/// The device conditions that a chain needs; it waits for them at no cost.
public struct ChainConstraints: Hashable, Sendable, Codable {
    /// The network can be reached.
    public var network: Bool
    /// The network is not paid for by volume.
    public var unmetered: Bool
    /// The device is charging or full.
    public var charging: Bool
    /// Free bytes needed on the disk.
    public var freeBytes: Int64

    /// Makes constraints.
    ///
    /// - Parameters:
    ///   - network: the network can be reached.
    ///   - unmetered: the network is not metered.
    ///   - charging: the device is charging or full.
    ///   - freeBytes: free bytes on the disk.
    public init(
        network: Bool = false, unmetered: Bool = false, charging: Bool = false, freeBytes: Int64 = 0
    ) {
        self.network = network
        self.unmetered = unmetered
        self.charging = charging
        self.freeBytes = max(0, freeBytes)
    }

    /// Whether a device meets all of them.
    ///
    /// - Parameter conditions: of the device.
    /// - Returns: whether all are met.
    public func areMet(by conditions: DeviceConditions) -> Bool {
        (!network || conditions.network)
            && (!unmetered || conditions.network && conditions.unmetered)
            && (!charging || conditions.charging) && freeBytes <= conditions.freeBytes
    }

    init(bits: Int, freeBytes: Int64) {
        self.init(
            network: bits & 1 != 0, unmetered: bits & 2 != 0, charging: bits & 4 != 0,
            freeBytes: freeBytes)
    }

    /// The encoding in a row.
    var bits: Int { (network ? 1 : 0) | (unmetered ? 2 : 0) | (charging ? 4 : 0) }

    /// The bits that conditions do not offer.
    package static func missing(_ conditions: DeviceConditions) -> Int {
        (conditions.network ? 0 : 1) | (conditions.network && conditions.unmetered ? 0 : 2)
            | (conditions.charging ? 0 : 4)
    }
}
