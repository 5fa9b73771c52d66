import Foundation
import Reprise
import RepriseCore
import RepriseJournal
import RepriseTesting

/// The processes of one round and the folders that they work in.
///
/// Blocking, and of one thread: the loop's.
struct CrashFixture {
    struct Device {
        let place: DevicePlace
        var process: ChildProcess?
        var version = 0
        var kills = 0
        var watch: LedgerWatch
        /// What an extension has left in the spool.
        var spooled: [String] = []
    }

    let folder: URL
    let port: Int
    var devices: [Device]
    private var server: ChildProcess?
    /// What went wrong until now.
    var faults: [String] = []
    private(set) var kills: [String: Int] = [:]
    private var isCalm = false

    var url: String { "http://127.0.0.1:\(port)" }
    var data: String { folder.appendingPathComponent("server").path }
    private var serverLog: String { folder.appendingPathComponent("server.log").path }

    init(folder: URL, port: Int, devices count: Int) throws {
        self.folder = folder
        self.port = port
        devices = (0..<count).map { index in
            let place = DevicePlace(folder: folder.appendingPathComponent("device-\(index)"))
            return Device(place: place, watch: LedgerWatch(place.journal))
        }
        for device in devices { try device.place.make() }
        try startServer()
        for index in devices.indices { try startDevice(index) }
    }

    var readings: Int { devices.reduce(0) { $0 + $1.watch.readings } }
    var killCount: Int { kills.values.reduce(0, +) }

    /// Whether every device has handled so many messages, and has nothing left to do.
    func isAtRest(messages: Int) -> Bool {
        devices.allSatisfy { device in
            let seen = Set(LineFile.read(device.place.effects(.again)).compactMap(\.first))
            guard seen.count >= messages else { return false }
            let sum = try? AccountClient.ledger(
                at: device.place.journal, schemas: [DeviceTables.schema(version: device.version)])
            return sum?.pending == 0
        }
    }

    // MARK: Starting and killing

    mutating func perform(_ strike: Strike) throws {
        for case .device(let index) in strike.victims {
            spool(strike.spooled.before, for: index)
            look(at: index)  // while its owner is at work
        }
        try killAndStart(strike, isUpdate: strike.isUpdate)
        for pause in strike.repetitions {
            Thread.sleep(forTimeInterval: pause / .seconds(1))
            try killAndStart(strike, isUpdate: false)
        }
    }

    private mutating func killAndStart(_ strike: Strike, isUpdate: Bool) throws {
        for victim in strike.victims { end(victim) }
        for victim in strike.victims {
            switch victim {
            case .server: try startServer()
            case .device(let index):
                look(at: index)
                spool(strike.spooled.after, for: index)
                if isUpdate, devices[index].version < DeviceTables.versions {
                    devices[index].version += 1
                }
                try startDevice(index)
            }
        }
    }

    /// Lets everybody come to rest: starts all once more, and no device publishes.
    mutating func calm() throws {
        isCalm = true
        for index in devices.indices { end(.device(index)) }
        for index in devices.indices {
            look(at: index)
            try startDevice(index)
        }
    }

    /// Ends all processes.
    mutating func clear() {
        for index in devices.indices { end(.device(index)) }
        end(.server)
    }

    private mutating func startServer() throws {
        server = try ChildProcess(
            .sibling("crash-loop"),
            ["server", "--data", data, "--port", "\(port)", "--log", serverLog])
    }

    private mutating func startDevice(_ index: Int) throws {
        let device = devices[index]
        devices[index].process = try ChildProcess(
            .sibling("crash-loop"),
            [
                "device", "--folder", device.place.folder.path, "--server", url,
                "--version", "\(device.version)",
            ] + (isCalm ? ["--calm"] : []))
    }

    private mutating func end(_ victim: Strike.Victim) {
        let (process, log, name) = parts(of: victim)
        guard let process else { return }
        let ending = process.kill()
        var phase = Phase.starting
        while let line = process.readLine() { phase = Phase(rawValue: line) ?? phase }
        switch victim {
        case .server: server = nil
        case .device(let index):
            devices[index].process = nil
            devices[index].kills += 1
        }
        if ending == .signal(SIGKILL) {
            kills["\(victim == .server ? "server" : "device") \(phase)", default: 0] += 1
        } else {
            let words = LineFile.read(log).suffix(3).map { $0.joined(separator: " ") }
            faults.append("\(name) ended by itself (\(ending)): \(words.joined(separator: " | "))")
        }
    }

    private func parts(of victim: Strike.Victim) -> (ChildProcess?, log: String, name: String) {
        switch victim {
        case .server: (server, serverLog, "the server")
        case .device(let index):
            (devices[index].process, devices[index].place.log, "device \(index + 1)")
        }
    }

    // MARK: From outside

    private mutating func look(at index: Int) {
        let version = devices[index].version
        faults += devices[index].watch.look(version: version).map { "device \(index + 1): \($0)" }
    }

    /// Leaves records for a device as an extension does, whose process is another one.
    private mutating func spool(_ count: Int, for index: Int) {
        let spool = Spool(at: devices[index].place.journal)
        for _ in 0..<count {
            let entry = NewEntry(kind: DeviceTables.kind.name, source: "extension", payload: [])
            do {
                try spool.record(entry)
                devices[index].spooled.append(entry.id.text)
            } catch {
                faults.append("device \(index + 1): its spool took nothing: \(error)")
            }
        }
    }
}
