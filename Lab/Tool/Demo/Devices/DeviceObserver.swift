import RepriseCore
import Synchronization

/// A line of a device's output.
enum DeviceWord: String, Sendable {
    /// It connects at a line of input.
    case ready
    /// The server has answered it.
    case listening
    /// It has asked for what it misses.
    case catchingUp = "catching-up"
    /// It takes itself to have everything.
    case complete
    /// It waits for events that never come.
    case frozen
}

/// Follows what devices write and say.
final class DeviceObserver: Sendable {
    private struct State {
        var logs: [String: [EffectLog]]
        /// How often each device has said what since its start.
        var said: [String: [DeviceWord: Int]] = [:]
        /// When it said last that it has everything; nil since it has asked again.
        var claims: [String: ContinuousClock.Instant] = [:]
        /// The lines of each device at its start.
        var before: [String: Int] = [:]
    }

    let devices: [String]
    private let state: Mutex<State>

    /// - Parameter files: of each device, where it leaves what it has handled.
    init(_ files: [(device: String, paths: [String])]) {
        devices = files.map(\.device)
        let logs = files.map { ($0.device, $0.paths.map { EffectLog($0) }) }
        state = Mutex(State(logs: Dictionary(logs) { first, _ in first }))
    }

    /// Other processes have taken the place of the devices.
    func restarted() {
        state.withLock { state in
            (state.said, state.claims) = ([:], [:])
            state.before = state.logs.mapValues { $0.reduce(0) { $0 + $1.lines } }
        }
    }

    /// Listens to a device until it ends.
    func listen(to process: DemoProcess, as device: String) async {
        while let line = try? await process.line(within: .seconds(3_600)) {
            guard let word = DeviceWord(rawValue: line) else { continue }
            state.withLock { state in
                state.said[device, default: [:]][word, default: 0] += 1
                state.claims[device] = word == .complete ? .now : nil
            }
        }
    }

    func times(_ word: DeviceWord, _ device: String) -> Int {
        state.withLock { $0.said[device]?[word] ?? 0 }
    }

    func claim(of device: String) -> ContinuousClock.Instant? {
        state.withLock { $0.claims[device] }
    }

    /// The messages that a device has handled so far, and those it has since its start.
    func count(_ device: String) throws -> Int { try read(device).reduce(0) { $0 + $1.ids.count } }

    /// How many it has handled since its start.
    func handled(_ device: String) throws -> Int {
        let lines = try read(device).reduce(0) { $0 + $1.lines }
        return lines - state.withLock { $0.before[device] ?? 0 }
    }

    /// - Returns: the ids, and the number of repetitions.
    func look(_ device: String) throws -> (ids: Set<EntryID>, again: Int) {
        let logs = try read(device)
        return (
            logs.reduce(into: []) { $0.formUnion($1.ids) }, logs.reduce(0) { $0 + $1.repeated }
        )
    }

    private func read(_ device: String) throws -> [EffectLog] {
        try state.withLock { state in
            for index in state.logs[device]?.indices ?? 0..<0 {
                try state.logs[device]?[index].update()
            }
            return state.logs[device] ?? []
        }
    }
}
