import Foundation
import RepriseCore
import RepriseWire
import Synchronization

/// Follows what the four devices write and say.
final class CatchUpWatch: Sendable {
    private struct State {
        var logs: [CatchUpDevice: [EffectLog]]
        /// When it said last that it has everything; nil since it has asked again.
        var claims: [CatchUpDevice: ContinuousClock.Instant] = [:]
        var frozen: Set<CatchUpDevice> = []
        var ready: Set<CatchUpDevice> = []
    }

    private let state: Mutex<State>

    init(channels: [String], at folder: URL) {
        var logs: [CatchUpDevice: [EffectLog]] = [:]
        for role in CatchUpDevice.allCases {
            logs[role] = channels.map {
                EffectLog(CatchUpDeviceCommand.effects(of: role, in: $0, at: folder))
            }
        }
        state = Mutex(State(logs: logs))
    }

    /// Other processes take the place of the devices.
    func forget() {
        state.withLock { state in
            state.claims = [:]
            state.ready = []
        }
    }

    /// Whether all wait to be told to connect.
    var areReady: Bool { state.withLock { $0.ready.count == CatchUpDevice.allCases.count } }

    /// Listens to a device until it ends.
    func listen(to device: DemoProcess, as role: CatchUpDevice) async {
        while let line = try? await device.line(within: .seconds(3_600)) {
            state.withLock { state in
                switch DeviceWord(rawValue: line) {
                case .ready: state.ready.insert(role)
                case .complete: state.claims[role] = .now
                case .catchingUp: state.claims[role] = nil
                case .frozen:
                    state.claims[role] = nil
                    state.frozen.insert(role)
                case nil: break
                }
            }
        }
    }

    /// Reads a device's new effects.
    ///
    /// - Returns: the applied ids, and the number of repetitions.
    func look(_ role: CatchUpDevice) throws -> (ids: Set<EntryID>, again: Int) {
        try state.withLock { state in
            var logs = state.logs[role] ?? []
            for index in logs.indices { try logs[index].update() }
            state.logs[role] = logs
            let ids = logs.reduce(into: Set<EntryID>()) { $0.formUnion($1.ids) }
            return (ids, logs.reduce(0) { $0 + $1.repeated })
        }
    }

    func claim(of role: CatchUpDevice) -> ContinuousClock.Instant? {
        state.withLock { $0.claims[role] }
    }

    func isFrozen(_ role: CatchUpDevice) -> Bool { state.withLock { $0.frozen.contains(role) } }
}
