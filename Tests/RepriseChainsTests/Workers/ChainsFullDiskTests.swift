import Foundation
import RepriseChains
import RepriseCore
import RepriseTesting
import Synchronization
import Testing

/// A small file system in memory at a folder of the bench.
///
/// Needs root on Linux.
private final class ChainsSmallDisk: Sendable {
    static let canMount: Bool = {
        guard getuid() == 0, let bench = try? WorkBench(), (try? ChainsSmallDisk(bench)) != nil
        else {
            print("FullDiskTests are skipped; they need root on Linux")
            return false
        }
        return true
    }()

    struct Failure: Error {}

    let place: URL

    init(_ bench: WorkBench) throws {
        place = bench.folder.appending("small")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        try Self.run("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", place.path])
    }

    deinit { try? Self.run("umount", ["-l", place.path]) }

    private var ballast: URL { place.appendingPathComponent("ballast") }

    /// Takes so many MiB of the 48; all, if there are not so many.
    func fill(_ count: Int) {
        try? Data(count: count * 1_048_576).write(to: ballast)
    }

    /// Takes all that there is.
    func fillUp() {
        guard FileManager.default.createFile(atPath: ballast.path, contents: nil),
            let file = try? FileHandle(forWritingTo: ballast)
        else { return }
        defer { try? file.close() }
        while (try? file.write(contentsOf: Data(count: 65_536))) != nil {}
    }

    func makeRoom() throws { try FileManager.default.removeItem(at: ballast) }

    private static func run(_ name: String, _ arguments: [String]) throws {
        for folder in ["/bin", "/usr/bin", "/sbin", "/usr/sbin"] {
            let path = URL(fileURLWithPath: folder).appendingPathComponent(name)
            guard FileManager.default.isExecutableFile(atPath: path.path) else { continue }
            guard try ChildProcess(path, arguments).wait() == .exit(0) else { throw Failure() }
            return
        }
        throw Failure()
    }
}

@Suite("Workers on a disk that is full", .timeLimit(.minutes(1)))
struct ChainsFullDiskTests {
    private static let place = SandboxPath("home", "small/film")

    @Test("copy nothing for which there is no room, and all of it once there is")
    func copy() async throws {
        try await onSmallDisk { bench, disk in
            let bytes = content(5_000_000)
            try bench.write("from", bytes)
            let input = CopyFileWorker.Input(SandboxPath("home", "from"), to: Self.place)
            disk.fill(14)
            let error = await bench.failure(CopyFileWorker.self, input, of: bench.standard())
            #expect(error?.errorCode == .diskFull)
            #expect(bench.read("small/film") == nil)
            try disk.makeRoom()
            _ = try await bench.run(CopyFileWorker.self, input, of: bench.standard())
            #expect(bench.read("small/film") == bytes)
            #expect(bench.names(in: "small") == ["film"])
        }
    }

    @Test("end a download that fills the disk as an attempt, and go on where it was with room")
    func download() async throws {
        try await onSmallDisk { bench, disk in
            let bytes = content(5_000_000)
            let isFirst = Mutex(true)
            try await OddServer.run { request, answer in
                let fills = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if fills {
                    try await answer.head(200, ["Content-Length: 5000000", "ETag: \"v1\""])
                    try await answer.write(bytes[..<3_000_000])
                    // The room that was there when it began is gone.
                    disk.fillUp()
                    try await answer.write(bytes[3_000_000...])
                } else {
                    try await answer.serve(bytes, request)
                }
            } test: { url, host, _ in
                let input = DownloadWorker.Input(url: url + "/film", to: Self.place)
                let workers = bench.standard(allowing: host)
                let error = await bench.failure(DownloadWorker.self, input, of: workers)
                #expect(error?.errorCode == .diskFull)
                #expect(bench.read("small/film") == nil)
                try disk.makeRoom()
                _ = try await bench.run(DownloadWorker.self, input, of: workers)
                #expect(bench.read("small/film") == bytes)
                #expect(bench.names(in: "small") == ["film"])
            }
        }
    }

    private func onSmallDisk(_ body: (WorkBench, ChainsSmallDisk) async throws -> Void) async throws
    {
        guard ChainsSmallDisk.canMount else { return }
        let bench = try WorkBench()
        let disk = try ChainsSmallDisk(bench)
        try await body(bench, disk)
    }
}
