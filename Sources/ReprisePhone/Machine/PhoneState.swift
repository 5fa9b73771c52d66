import RepriseCore

/// Everything a phone remembers: one file on its disk.
package struct PhoneState: Hashable, Sendable, Codable {
    package internal(set) var apps: [String: AppMachine] = [:]
    package internal(set) var transfers = TransferQueue()
    package internal(set) var extensions = ServiceExtensions()
    package internal(set) var network = PhoneNetwork.on
    package internal(set) var clock = PhoneClock()
    package internal(set) var device = PhoneDevice()
    package internal(set) var rules = PhoneRules()
    /// A Focus is on.
    package internal(set) var isFocused = false
    /// The device was not unlocked since its start.
    package internal(set) var isLocked = false
    /// The number of the newest process that was ever launched; of the newest order.
    var lastLife = 0
    var lastOrder = 0
    /// Killed processes whose end is not confirmed: killed at the next start, if the identity
    /// matches.
    package internal(set) var condemned: [ProcessIdentity] = []
    /// Of apps that were taken away, where the rules keep them.
    var badges: [String: Int] = [:]

    package init() {}

    var conditions: RunConditions { .init(network: network, device: device, rules: rules) }
}

/// What decides whether the system runs a task or a transfer.
struct RunConditions {
    var network: PhoneNetwork
    var device: PhoneDevice
    var rules: PhoneRules
}

/// A process, such that another of the same number is not taken for it.
package struct ProcessIdentity: Hashable, Sendable, Codable {
    package var id: Int32
    /// The system's start time of it.
    package var started: String

    package init(id: Int32, started: String) {
        self.id = id
        self.started = started
    }
}
