import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking  // Data(contentsOf:) over HTTP
#endif

/// A server in a process of its own, so that its memory and processor time can be told from the
/// load's.
// Unchecked: its properties do not change after init; what it reads comes from the system.
final class ServerProcess: @unchecked Sendable {
    struct Address: Sendable {
        var host = "127.0.0.1"
        var port: Int
        /// Whether it asks who is who; then there is a token for each device, as a user of that
        /// name.
        var hasTokens = false

        /// - Returns: the end of a `hello`.
        func credentials(of device: String) throws -> String {
            guard hasTokens else { return "" }
            let text = "http://\(host):\(port)/v1/dev/token?user=\(device)"
            guard let url = URL(string: text) else { throw BenchmarkError("\(text) is no URL") }
            let answer = try JSONSerialization.jsonObject(with: Data(contentsOf: url))
            guard let token = (answer as? [String: Any])?["token"] as? String else {
                throw BenchmarkError("the server gave no token")
            }
            return #","token":"\#(token)""#
        }
    }

    let address: Address
    private let process: Process
    private let folder: URL
    /// The server's data folder.
    var data: URL { folder }
    /// The process's number.
    var identifier: Int32 { process.processIdentifier }
    private let arguments: [String]

    /// Starts this executable again with `arguments` and a folder, and waits for the line
    /// `ready PORT`.
    ///
    /// - Parameters:
    ///   - arguments: which server, and how.
    ///   - folder: that of a server that has stopped; nil makes an empty one.
    /// - Throws: `BenchmarkError` when it ends before it is ready.
    init(_ arguments: [String], folder: URL? = nil) throws {
        self.arguments = arguments
        self.folder =
            folder
            ?? FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: self.folder, withIntermediateDirectories: true)
        process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).absoluteURL
        process.arguments = arguments + ["--data", self.folder.path]
        let output = Pipe()
        process.standardOutput = output
        if arguments.contains("--log") {
            let log = self.folder.appendingPathComponent("log")
            _ = FileManager.default.createFile(atPath: log.path, contents: nil)
            process.standardError = try FileHandle(forWritingTo: log)
        }
        try process.run()
        var line = ""
        while !line.hasSuffix("\n") {
            let byte = output.fileHandleForReading.readData(ofLength: 1)
            guard !byte.isEmpty else {
                throw BenchmarkError("the server ended before it was ready")
            }
            line += String(decoding: byte, as: UTF8.self)
        }
        guard let port = line.split(separator: " ").last.flatMap({ Int($0.trimmed) }) else {
            throw BenchmarkError("the server said: \(line)")
        }
        address = Address(port: port, hasTokens: arguments.contains("--tokens"))
    }

    /// Resident memory, in bytes.
    var residentBytes: Int { Self.residentBytes(of: "\(process.processIdentifier)") }

    /// Processor time, user and system.
    var processorSeconds: Double {
        let stat =
            (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8))
            ?? ""
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12 else { return 0 }
        return ((Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0))
            / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    static func residentBytes(of process: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
    }

    /// The same server over the same data, in a new process whose memory nothing has used yet.
    func restarted() throws -> ServerProcess {
        end()
        return try ServerProcess(arguments, folder: folder)
    }

    private func end() {
        process.terminate()
        process.waitUntilExit()
    }

    func stop() {
        end()
        try? FileManager.default.removeItem(at: folder)
    }
}

extension Substring {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
