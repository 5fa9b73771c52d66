import RepriseCore
import Synchronization

/// Whether a device is connected; quick, and from any thread.
package typealias ConnectedCheck = @Sendable (ConnectingDevice) -> Bool

/// The devices that are connected to this server, with their connections.
package final class ConnectedDevices: Sendable {
    private let roster = Mutex(DeviceRoster<Gateway.Place>())

    package init() {}

    /// Whether a device has a connection whose hello has come.
    package func contains(_ device: ConnectingDevice) -> Bool {
        roster.withLock { $0.contains(device) }
    }

    func update<Result: Sendable>(
        _ change: (inout DeviceRoster<Gateway.Place>) -> Result
    ) -> Result {
        roster.withLock { change(&$0) }
    }
}
