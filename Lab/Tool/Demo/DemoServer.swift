import Foundation
import RepriseCommandLine

/// The server of a demo: a process that can be killed, and started again on the same port and data.
actor DemoServer {
    private let folder: URL
    private let options: [String]
    private var process: DemoProcess?
    private var starts = 0
    private(set) var url = ""

    /// - Parameters:
    ///   - folder: for its data and logs.
    ///   - options: those of `reprise serve`, beside port and data.
    init(in folder: URL, _ options: [String] = []) {
        (self.folder, self.options) = (folder, options)
    }

    /// Returns when it is ready.
    ///
    /// - Throws: ``CommandFailure``.
    func start() async throws {
        starts += 1
        let port = url.split(separator: ":").last.map(String.init) ?? "0"
        let data = folder.appendingPathComponent("data").path
        let child = try DemoProcess(
            .reprise,
            ["serve", "--port", port, "--data", data, "--json", "--until-input-ends"] + options,
            log: folder.appendingPathComponent("\(starts).log"))
        process = child
        url = try await child.url()
    }

    /// SIGKILL.
    func kill() async { await process?.kill() }

    func end() async { await process?.terminate() }
}
