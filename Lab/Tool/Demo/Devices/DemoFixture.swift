import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The processes of the demo and the folder that they work in.
///
/// One task sets the stage and changes it; ending it leaves nothing behind, neither processes nor
/// files.
actor DemoFixture {
    let folder: URL
    private var server: DemoProcess?
    private var devices: [DemoProcess] = []
    private let arguments: @Sendable (_ url: String, _ folder: URL) -> [[String]]
    private var starts = 0
    private(set) var url = ""

    /// Sets up a fixture.
    ///
    /// - Parameter devices: the arguments that each device is started with.
    /// - Throws: ``CommandFailure`` `.cannotCreate`.
    init(devices: @escaping @Sendable (_ url: String, _ folder: URL) -> [[String]]) throws {
        arguments = devices
        folder = try DemoFolder.make()
    }

    /// Starts the server, at the second time on the same port and data; returns when it is ready.
    func startServer() async throws {
        let port = url.split(separator: ":").last.map(String.init) ?? "0"
        let data = folder.appendingPathComponent("server").path
        let child = try start(
            .reprise,
            [
                "serve", "--port", port, "--data", data, "--json", "--until-input-ends",
            ])
        server = child
        url = try await child.url()
    }

    /// Starts the devices; their output has to be read.
    func launchDevices() throws -> [DemoProcess] {
        devices = try arguments(url, folder).map { try start(.lab, $0) }
        return devices
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

    private func start(_ program: LabProgram, _ arguments: [String]) throws -> DemoProcess {
        starts += 1
        return try DemoProcess(
            program, arguments, log: folder.appendingPathComponent("\(starts)-\(arguments[0]).log"))
    }
}
