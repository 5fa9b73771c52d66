import RepriseCore
import Synchronization

/// Those of the devices that are connected; all of them where that is not known in time.
package typealias ConnectedCheck =
    @Sendable ([ConnectingDevice]) async -> Set<ConnectingDevice>

/// The devices that are connected to this server, with their connections.
package final class ConnectedDevices: Sendable {
    private let roster = Mutex(DeviceRoster<Gateway.Place>())

    package init() {}

    /// Those of the devices that have a connection whose hello has come.
    package func connected(of devices: [ConnectingDevice]) -> Set<ConnectingDevice> {
        roster.withLock { roster in Set(devices.filter { roster.contains($0) }) }
    }

    func update<Result: Sendable>(
        _ change: (inout DeviceRoster<Gateway.Place>) -> Result
    ) -> Result {
        roster.withLock { change(&$0) }
    }
}
