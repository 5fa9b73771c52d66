import Foundation
import RepriseCore
import RepriseWire

/// The processes of the demo and the folder that they work in.
///
/// One task sets the stage and changes it; ending it leaves nothing behind, neither processes nor files.
actor DemoStage {
    static let channel = "demo"

    private let folder: URL
    private var server: ChildProcess?
    private var devices: [ChildProcess] = []
    private var starts = 0
    private(set) var url = ""

    /// - Throws: ``CommandFailure`` `.cannotCreate`.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-demo-\(EntryID.random().text.prefix(8))")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "The folder \(folder.path) cannot be created. Set TMPDIR to another."
            )
        }
    }

    nonisolated var journal: URL { folder.appendingPathComponent("device") }
    nonisolated var effects: String { folder.appendingPathComponent("reprise.effects").path }
    nonisolated var naiveEffects: String { folder.appendingPathComponent("naive.effects").path }

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

    /// Starts both devices; returns when the server has answered both.
    func startDevices() async throws {
        let arguments = ["device", Self.channel, "--server", url, "--journal", journal.path]
        devices = [
            try start(arguments + ["--effects", effects]),
            try start(arguments + ["--effects", naiveEffects, "--naive"]),
        ]
        try await devicesListen()
    }

    /// Returns when the server has answered both devices, once more.
    func devicesListen() async throws {
        for device in devices { _ = try await device.line() }
    }

    /// SIGKILL to both, one right after the other.
    func killDevices() async {
        async let first: Void = devices[0].kill()
        async let second: Void = devices[1].kill()
        _ = await (first, second)
    }

    func killServer() async { await server?.kill() }

    /// Asks the devices to end, so that nobody owns the journal any more.
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

    private func start(_ arguments: [String]) throws -> ChildProcess {
        starts += 1
        return try ChildProcess(
            arguments, log: folder.appendingPathComponent("\(starts)-\(arguments[0]).log"))
    }

    private static func url(in line: String) throws -> String {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        guard let url = object?["url"] as? String else {
            throw CommandFailure(.internal, "The server did not say where it listens.")
        }
        return url
    }
}
