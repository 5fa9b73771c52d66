import Foundation
import RepriseCore
import Synchronization

/// The phone's conditions for deferrable work, as an app sees them.
final class PhoneConditions: DeviceStatus {
    private struct State {
        var network: PhoneNetwork
        var device: PhoneDevice
    }

    private let folder: String
    private let state: Mutex<State>
    private let streams = ValueStreams<DeviceConditions>(newest: 1)

    init(_ network: PhoneNetwork, _ device: PhoneDevice, folder: String) {
        self.folder = folder
        state = Mutex(State(network: network, device: device))
    }

    func set(_ network: PhoneNetwork) { change { $0.network = network } }
    func set(_ device: PhoneDevice) { change { $0.device = device } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            streams.send(conditions(of: state))
        }
    }

    private func conditions(of state: State) -> DeviceConditions {
        DeviceConditions(
            network: state.network != .off,
            unmetered: state.network != .off && !state.device.isMetered,
            charging: state.device.isPluggedIn, freeBytes: state.device.freeBytes ?? onDisk)
    }

    private var onDisk: Int64 {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder)
        return (attributes?[.systemFreeSize] as? NSNumber)?.int64Value ?? .max
    }

    var conditions: AsyncStream<DeviceConditions> {
        state.withLock { streams.open(with: conditions(of: $0)) }
    }
}
