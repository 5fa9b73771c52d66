import Foundation
import GRDB
import RepriseCore
import RepriseTesting
import Synchronization

/// `crash-loop powerloss`: cuts the power under a running writer, and asks the medium for what was
/// promised.
///
/// For each image a new file system, a new writer, and a random moment.
struct PowerLoss: Sendable {
    private let seed: UInt64
    private let images: Int
    private let isJSON: Bool
    /// A writer that does not wait for the disk: `bare`, our own with synchronous = OFF; `lying`,
    /// the real journal and log on a disk that says "synced" and does nothing (strace).
    private let unsafe: String?
    private let arguments: Arguments

    private struct Found: Sendable {
        var images = 0
        var promised = 0
        var lost = 0
        var faults: [String] = []
    }

    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        seed = try arguments.seed()
        images = try arguments.number("images") ?? 100
        isJSON = arguments.has("json")
        unsafe = arguments.text("unsafe")
    }

    func run() async throws {
        guard arguments.has("inside") else { return try MountSpace.enter() }
        let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
        let folder = URL(fileURLWithPath: base)
            .appendingPathComponent("reprise-powerloss-\(EntryID.random().text.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        do {
            _ = try Medium(
                point: folder.appendingPathComponent("probe").path, megabytes: 8,
                journalMegabytes: 1)
        } catch {
            complain(
                """
                loop mounts are not allowed here (\(error)). Run it as root; in a container, with \
                --privileged and a /dev/loop-control.
                """)
            try? FileManager.default.removeItem(at: folder)
            exit(69)
        }
        if arguments.has("probe") { return try FileManager.default.removeItem(at: folder) }
        let isSound = try await measure(in: folder)
        try FileManager.default.removeItem(at: folder)
        exit(isSound ? 0 : 1)
    }

    private func measure(in folder: URL) async throws -> Bool {
        complain("seed \(seed)")
        let start = ContinuousClock.now
        var (random, found) = (SeededGenerator(seed: seed), Found())
        while found.images < images, found.faults.isEmpty || unsafe != nil {
            try await image(in: folder, &random, &found)
            guard found.images.isMultiple(of: 10) else { continue }
            complain("\(found.images) images, \(found.promised) promises, \(found.lost) lost")
        }
        report(found, seconds: Int((.now - start) / .seconds(1)))
        return found.lost == 0 && found.faults.isEmpty
    }

    // MARK: One image

    private func image(
        in folder: URL, _ random: inout SeededGenerator, _ found: inout Found
    ) async throws {
        let isSmall = random.chance(0.5)
        let fuse = Duration.milliseconds(Int.random(in: 0...700, using: &random))
        let copy = folder.appendingPathComponent("copy.img").path
        let promised = try await cutPower(in: folder, isSmall: isSmall, after: fuse, copy: copy)
        try await inspect(
            copy, at: folder.appendingPathComponent("copy"), promised, &found)
        unlink(copy)
    }

    /// - Returns: what was promised before the cut.
    private func cutPower(
        in folder: URL, isSmall: Bool, after fuse: Duration, copy: String
    ) async throws -> [String: Set<String>] {
        let medium = try Medium(
            point: folder.appendingPathComponent("disk").path, megabytes: 128,
            journalMegabytes: isSmall ? 1 : 8)
        let log = folder.appendingPathComponent("writer.log").path
        let writer = try startWriter(medium, log, isSmall: isSmall)
        let promises = WriterAcknowledgements(writer)
        defer {
            // First the input: strace passes no signal on, and its child ends by itself.
            writer.closeInput()
            writer.kill()
        }
        try await promises.waitForFirst(log: log)
        try await Task.sleep(for: fuse)
        let promised = promises.all
        try medium.cutPower()
        try medium.copy(to: copy)
        return promised
    }

    private func startWriter(_ disk: Medium, _ log: String, isSmall: Bool) throws -> ChildProcess {
        let program = URL.sibling("crash-loop")
        let words = ["write", "--folder", disk.point, "--log", log] + (isSmall ? ["--small"] : [])
        switch unsafe {
        case "bare": return try ChildProcess(program, words + ["--bare", "OFF"])
        case "lying":
            return try ChildProcess(
                URL(fileURLWithPath: "/usr/bin/env"),
                [
                    "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
                    "-e", "inject=fsync,fdatasync:retval=0", program.path,
                ] + words)
        default: return try ChildProcess(program, words)
        }
    }

    private func inspect(
        _ copy: String, at point: URL, _ promised: [String: Set<String>], _ found: inout Found
    ) async throws {
        found.images += 1
        found.promised += promised.values.reduce(0) { $0 + $1.count }
        var (stored, faults) = ([String: Set<String>](), [String]())
        do {
            try FileManager.default.createDirectory(at: point, withIntermediateDirectories: true)
            // ext4 replays its journal, as after a power failure.
            try command("mount", "-o", "loop", copy, point.path)
            defer { try? command("umount", "-l", point.path) }
            if unsafe == "bare" {
                stored["bare"] = try Self.bare(point)
            } else {
                stored = await StoredAcknowledgements.read(point, &faults)
            }
        } catch {
            faults.append("\(error)")
        }
        found.faults += faults.map { "image \(found.images): \($0)" }
        for (name, ids) in promised {
            let lost = ids.subtracting(stored[name] ?? []).count
            guard lost > 0 else { continue }
            found.lost += lost
            found.faults.append(
                "image \(found.images): the \(name) has lost \(lost) of \(ids.count)")
        }
    }

    private static func bare(_ folder: URL) throws -> Set<String> {
        let path = folder.appendingPathComponent("bare.sqlite").path
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.read { db in
            guard try db.tableExists("bare") else { return [] }
            return Set(try String.fetchAll(db, sql: "SELECT id FROM bare"))
        }
    }

    private func report(_ found: Found, seconds: Int) {
        guard isJSON else {
            print(
                "\(found.images) images in \(seconds) s, \(found.promised) promises, \(found.lost) lost"
            )
            for fault in found.faults.prefix(20) { print("FAULT \(fault)") }
            return
        }
        Summary.print(
            seed: seed,
            [
                ("images", found.images), ("promised", found.promised), ("lost", found.lost),
                ("seconds", seconds),
            ], faults: Array(found.faults.prefix(20)))
    }
}

/// What a writer has said until now, read as it comes.
private final class WriterAcknowledgements: Sendable {
    private let lines = Mutex<[String: Set<String>]>([:])

    init(_ writer: ChildProcess) {
        Thread { [self] in
            while let line = writer.readLine() {
                let words = line.split(separator: " ").map(String.init)
                guard words.count == 2 else { continue }
                lines.withLock { _ = $0[words[0], default: []].insert(words[1]) }
            }
        }.start()
    }

    var all: [String: Set<String>] { lines.withLock { $0 } }

    func waitForFirst(log: String) async throws {
        let end = ContinuousClock.now + .seconds(20)
        while all.isEmpty {
            guard ContinuousClock.now < end else {
                let words = LineFile.read(log).suffix(3).map { $0.joined(separator: " ") }
                throw ProcessFailure("The writer does not write: \(words)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
