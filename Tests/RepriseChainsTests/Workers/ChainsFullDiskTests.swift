import Foundation
import RepriseChains
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Workers on a disk that is full", .timeLimit(.minutes(1)))
struct ChainsFullDiskTests {
    private static let place = SandboxPath("home", "small/film")

    @Test(
        "do not copy a file without room, and copy all of it once there is room",
        .limit("workers.freeSpace"))
    func copy() async throws {
        try await onSmallDisk { bench, disk in
            let bytes = content(5_000_000)
            try bench.write("from", bytes)
            let input = CopyFileWorker.Input(SandboxPath("home", "from"), to: Self.place)
            disk.fill(mebibytes: 14)
            let error = await bench.failure(CopyFileWorker.self, input, of: bench.standard())
            #expect(error?.errorCode == .diskFull)
            #expect(bench.read("small/film") == nil)
            try disk.makeRoom()
            _ = try await bench.run(CopyFileWorker.self, input, of: bench.standard())
            #expect(bench.read("small/film") == bytes)
            #expect(bench.names(in: "small") == ["film"])
        }
    }

    @Test(
        "count a download that fills the disk as a failed attempt, and go on from its byte once there is room"
    )
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

    private func onSmallDisk(_ body: (WorkBench, TemporaryDisk) async throws -> Void) async throws {
        guard TemporaryDisk.canMount else { return }
        let bench = try WorkBench()
        let disk = try TemporaryDisk(kibibytes: 49_152, at: bench.folder.appending("small"))
        try await body(bench, disk)
    }
}
