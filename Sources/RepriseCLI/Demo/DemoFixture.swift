import Foundation
import RepriseCore
import RepriseWire

/// The processes of the demo and the folder that they work in.
///
/// One task sets the stage and changes it; ending it leaves nothing behind, neither processes nor
/// files.
actor DemoFixture {
    static let channel = "demo"

    let folder: URL
    private var server: DemoProcess?
    private var devices: [DemoProcess] = []
    private let arguments: @Sendable (_ url: String, _ folder: URL) -> [[String]]
    private var starts = 0
    private(set) var url = ""

    /// Sets up the fixture of the scenario `kill`.
    ///
    /// - Throws: ``CommandFailure`` `.cannotCreate`.
    init() throws {
        try self.init { url, folder in
            let arguments = [
                "device", Self.channel, "--server", url, "--journal", Self.journal(in: folder).path,
            ]
            return [
                arguments + ["--effects", Self.effects(in: folder)],
                arguments + ["--effects", Self.naiveEffects(in: folder), "--naive"],
            ]
        }
    }

    /// Sets up a fixture.
    ///
    /// - Parameter devices: the arguments that each device is started with.
    /// - Throws: ``CommandFailure`` `.cannotCreate`.
    init(devices: @escaping @Sendable (_ url: String, _ folder: URL) -> [[String]]) throws {
        arguments = devices
        folder = try DemoFolder.make()
    }

    nonisolated var journal: URL { Self.journal(in: folder) }
    nonisolated var effects: String { Self.effects(in: folder) }
    nonisolated var naiveEffects: String { Self.naiveEffects(in: folder) }

    private static func journal(in folder: URL) -> URL { folder.appendingPathComponent("device") }
    private static func effects(in folder: URL) -> String {
        folder.appendingPathComponent("reprise.effects").path
    }
    private static func naiveEffects(in folder: URL) -> String {
        folder.appendingPathComponent("naive.effects").path
    }

    /// Starts the server, at the second time on the same port and data; returns when it is ready.
    func startServer() async throws {
        let port = url.split(separator: ":").last.map(String.init) ?? "0"
        let data = folder.appendingPathComponent("server").path
        let child = try start([
            "serve", "--port", port, "--data", data, "--json", "--until-input-ends",
        ])
        server = child
        url = try Self.url(in: try await child.line())
    }

    /// Starts the devices; returns when the server has answered them.
    func startDevices() async throws {
        try launchDevices()
        try await devicesListen()
    }

    /// Starts the devices and returns them, for a reader of their output.
    @discardableResult func launchDevices() throws -> [DemoProcess] {
        devices = try arguments(url, folder).map { try start($0) }
        return devices
    }

    /// Returns when the server has answered the devices again.
    func devicesListen() async throws {
        for device in devices { _ = try await device.line() }
    }

    /// SIGKILL to all, one right after the other.
    func killDevices() async {
        await withTaskGroup(of: Void.self) { group in
            for device in devices { group.addTask { await device.kill() } }
        }
    }

    func killServer() async { await server?.kill() }

    /// Ends the devices, so that the journal has no owner.
    func endDevices() async {
        for device in devices { await device.terminate() }
        devices = []
    }

    /// Ends everything and removes the folder.
    func clear() async {
        for device in devices { await device.kill() }
        await server?.terminate()
        try? FileManager.default.removeItem(at: folder)
    }

    private func start(_ arguments: [String]) throws -> DemoProcess {
        starts += 1
        return try DemoProcess(
            arguments, log: folder.appendingPathComponent("\(starts)-\(arguments[0]).log"))
    }

    static func url(in line: String) throws -> String {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        guard let url = object?["url"] as? String else {
            throw CommandFailure(.internal, "The server did not say where it listens.")
        }
        return url
    }
}
