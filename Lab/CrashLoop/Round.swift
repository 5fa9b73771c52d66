import Foundation
import RepriseCore
import RepriseTesting

/// Fresh folders, a number of strikes, rest, and the audit: small enough that journals stay small
/// and starts quick.
struct Round {
    struct Result: Sendable {
        var faults: [String] = []
        /// By victim and by what it was doing.
        var kills: [String: Int] = [:]
        /// By the publishers and the devices' outboxes.
        var promised = 0
        var spooled = 0
        var repeats = 0
        var unconfirmed = 0
        var readings = 0

        var killCount: Int { kills.values.reduce(0, +) }

        mutating func add(_ other: Result) {
            faults += other.faults
            kills.merge(other.kills, uniquingKeysWith: +)
            promised += other.promised
            spooled += other.spooled
            repeats += other.repeats
            unconfirmed += other.unconfirmed
            readings += other.readings
        }
    }

    let seed: UInt64
    let devices: Int
    /// How many are killed at least.
    let kills: Int
    let deadline: ContinuousClock.Instant?
    /// How long everybody has to come to rest.
    let timeout: Duration

    func run() async throws -> Result {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-crash-\(EntryID.random().text.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var fixture = try CrashFixture(folder: folder, port: FreePort.find(), devices: devices)
        let publishers = try DeviceRole.channels.map {
            try LoopPublisher(channel: $0, server: fixture.url)
        }
        async let publishing: Void = publish(publishers)
        var random = SeededGenerator(seed: seed)
        while fixture.killCount < kills, fixture.faults.isEmpty {
            if let deadline, ContinuousClock.now > deadline { break }
            let strike = Strike(devices: devices, using: &random)
            try await Task.sleep(for: strike.delay)
            try fixture.perform(strike)
        }
        for publisher in publishers { publisher.end(within: timeout) }
        try fixture.calm()
        try await publishing
        let promised = promises(publishers, fixture)
        try await rest(fixture, promised)
        fixture.clear()
        let result = try await audit(fixture, promised, publishers)
        // What went wrong is kept, to be looked at; unless it was ordered.
        if result.faults.isEmpty || LoopMutation.current != nil {
            try FileManager.default.removeItem(at: folder)
        }
        return result
    }

    private func publish(_ publishers: [LoopPublisher]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for publisher in publishers { group.addTask { try await publisher.run() } }
            try await group.waitForAll()
        }
    }

    private func promises(_ publishers: [LoopPublisher], _ fixture: CrashFixture) -> Set<String> {
        var promised = publishers.reduce(into: Set<String>()) { $0.formUnion($1.acknowledged) }
        for device in fixture.devices {
            promised.formUnion(
                LineFile.read(device.place.promises).compactMap { $0.first.map(String.init) })
        }
        return promised
    }

    /// Waits until nothing is under way any more; what never comes is found by the audit.
    private func rest(_ fixture: CrashFixture, _ promised: Set<String>) async throws {
        let end = ContinuousClock.now + timeout
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(50))
            let before = try ServerLog(data: fixture.data).ids.count
            guard before >= promised.count, fixture.isAtRest(messages: before) else { continue }
            if try ServerLog(data: fixture.data).ids.count == before { return }
        }
    }

    private func audit(
        _ fixture: CrashFixture, _ promised: Set<String>, _ publishers: [LoopPublisher]
    ) async throws -> Result {
        let log = try ServerLog(data: fixture.data)
        var result = Result(faults: fixture.faults + log.faults, kills: fixture.kills)
        result.promised = promised.count
        result.readings = fixture.readings
        let lost = promised.subtracting(log.ids)
        if !lost.isEmpty {
            result.faults.append(
                "the server has lost \(lost.count) of \(promised.count) promised messages: "
                    + lost.sorted().prefix(3).joined(separator: ", "))
        }
        for publisher in publishers { result.faults += publisher.faults }
        for (index, device) in fixture.devices.enumerated() {
            var audit = Audit(device, name: "device \(index + 1)", stored: log.ids)
            try await audit.run()
            result.faults += audit.faults
            result.repeats += audit.repeats
            result.unconfirmed += audit.unconfirmed
            result.spooled += device.spooled.count
        }
        if !result.faults.isEmpty, LoopMutation.current == nil {
            result.faults.append("kept for you: \(fixture.folder.path)")
        }
        return result
    }
}

/// A port that nobody is given by chance.
///
/// Outside the range from which the system takes the near end of a connection: a device that dials
/// a dead server for long enough would otherwise be given the server's own port, be connected to
/// itself, and keep the server from coming back.
enum FreePort {
    static func find() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<30_000)
            if isFree(port) { return port }
        }
        throw ProcessFailure("There is no free port between 20000 and 30000.")
    }

    private static func isFree(_ port: Int) -> Bool {
        #if canImport(Darwin)
            let file = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        guard file >= 0 else { return false }
        defer { close(file) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
