import Foundation
import RepriseCore
import Synchronization

/// The phone's conditions for deferrable work, as an app sees them.
final class PhoneConditions: DeviceStatus {
    private struct State {
        var network: PhoneNetwork
        var device: PhoneDevice
        var readers: [Int: AsyncStream<DeviceConditions>.Continuation] = [:]
        var last = 0
    }

    private let folder: String
    private let state: Mutex<State>

    init(_ network: PhoneNetwork, _ device: PhoneDevice, folder: String) {
        self.folder = folder
        state = Mutex(State(network: network, device: device))
    }

    func set(_ network: PhoneNetwork) { change { $0.network = network } }
    func set(_ device: PhoneDevice) { change { $0.device = device } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            let conditions = conditions(of: state)
            for reader in state.readers.values { reader.yield(conditions) }
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
        let (stream, reader) = AsyncStream<DeviceConditions>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.last += 1
            state.readers[state.last] = reader
            reader.yield(conditions(of: state))
            return state.last
        }
        // In a task of its own, as in `ValueStreams`: values are sent under the lock.
        reader.onTermination = { [weak self] _ in
            Task.detached { self?.state.withLock { _ = $0.readers.removeValue(forKey: id) } }
        }
        return stream
    }
}
