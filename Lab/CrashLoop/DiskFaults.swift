import Foundation
import RepriseCore
import RepriseTesting

/// `crash-loop faults`: a disk that fails or fills while a journal and a log are written on it.
///
/// - `fdatasync`, `pwrite64`: some of these calls fail with EIO (strace does it), again and again.
/// - `full`: a small tmpfs, on which somebody else takes and frees space.
///
/// Refusals must have a type; what was promised must be there afterwards, on a sound disk.
struct DiskFaults: Sendable {
    static let kinds = ["fdatasync", "pwrite64", "full"]

    private struct Found: Sendable {
        var rounds = 0
        var promised = 0
        var lost = 0
        var refusals: [String: Int] = [:]
        var faults: [String] = []
    }

    private let arguments: Arguments
    private let kind: String
    private let seed: UInt64
    private let rounds: Int

    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        kind = try arguments.needed("kind")
        guard Self.kinds.contains(kind) else {
            throw Arguments.Misuse(description: "The kinds are \(Self.kinds).")
        }
        seed = try arguments.seed()
        rounds = try arguments.number("rounds") ?? 10
    }

    func run() async throws {
        if kind == "full", !arguments.has("inside") { return try MountSpace.enter() }
        try probe()
        if arguments.has("probe") { return }
        complain("seed \(seed)")
        var (found, random) = (Found(), SeededGenerator(seed: seed))
        for _ in 0..<rounds {
            found.rounds += 1
            let folder = try TemporaryFolder()
            if kind == "full" {
                try await fullRound(folder, &random, &found)
            } else {
                try await brokenRound(folder, &random, &found)
            }
        }
        report(found)
        exit(found.faults.isEmpty && found.lost == 0 ? 0 : 1)
    }

    private func probe() throws {
        do {
            if kind == "full" {
                let folder = try TemporaryFolder()
                try command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder.url.path)
                try command("umount", "-l", folder.url.path)
            } else {
                try command("strace", "-f", "-qq", "-e", "inject=\(kind):error=EIO:when=9", "true")
            }
        } catch {
            complain(
                kind == "full"
                    ? "a tmpfs cannot be mounted here (\(error)). Run it as root."
                    : "strace cannot follow a process here (\(error)). Install it, and allow ptrace."
            )
            exit(69)
        }
    }

    // MARK: A disk that fails

    private func brokenRound(
        _ folder: TemporaryFolder, _ random: inout SeededGenerator, _ found: inout Found
    ) async throws {
        // Opening a journal with the tables of all doors writes hundreds of times, and is rarely
        // synced.
        let writes = kind == "pwrite64"
        let first = Int.random(in: 1...(writes ? 1_200 : 60), using: &random)
        let step = Int.random(in: writes ? 40...400 : 2...40, using: &random)
        let writer = try ChildProcess(
            URL(fileURLWithPath: "/usr/bin/env"),
            [
                "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(kind)",
                "-e", "inject=\(kind):error=EIO:when=\(first)+\(step)",
                URL.sibling("crash-loop").path, "write", "--count", "40",
                "--folder", folder.url.path, "--log", folder.appending("writer.txt").path,
            ])
        let promised = listen(to: writer, &found)
        try await check(folder.url, promised, &found)
    }

    // MARK: A disk that fills

    private func fullRound(
        _ folder: TemporaryFolder, _ random: inout SeededGenerator, _ found: inout Found
    ) async throws {
        let size = Int.random(in: 2_500...5_000, using: &random)
        try command("mount", "-t", "tmpfs", "-o", "size=\(size)k", "tmpfs", folder.url.path)
        defer { try? command("umount", "-l", folder.url.path) }
        let other = Ballast(
            folder.appending("ballast").path, bytes: size << 10, seed: random.next())
        let log = NSTemporaryDirectory() + "reprise-writer-\(getpid()).txt"
        defer { unlink(log) }
        let writer = try ChildProcess(
            .sibling("crash-loop"),
            ["write", "--count", "250", "--folder", folder.url.path, "--log", log])
        let promised = listen(to: writer, &found)
        other.end()
        // With room again everything goes on.
        try command("mount", "-o", "remount,size=256m", folder.url.path)
        try await check(folder.url, promised, &found)
    }

    // MARK: Both

    private func listen(to writer: ChildProcess, _ found: inout Found) -> [String: Set<String>] {
        var promised: [String: Set<String>] = [:]
        while let line = writer.readLine() {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            if words.count == 2 {
                promised[words[0], default: []].insert(words[1])
            } else if words.count == 3 {
                found.refusals["\(words[1]) \(words[2])", default: 0] += 1
                if words[2].hasPrefix("untyped") {
                    found.faults.append(
                        "the \(words[1]) threw an error without a type: \(words[2])")
                }
            }
        }
        let ending = writer.wait()
        if ending != .exit(0) { found.faults.append("the writer ended with \(ending)") }
        return promised
    }

    private func check(
        _ folder: URL, _ promised: [String: Set<String>], _ found: inout Found
    ) async throws {
        found.promised += promised.values.reduce(0) { $0 + $1.count }
        var faults: [String] = []
        let stored = await StoredAcknowledgements.read(folder, &faults)
        for (name, ids) in promised {
            let lost = ids.subtracting(stored[name] ?? []).count
            found.lost += lost
            if lost > 0 { faults.append("the \(name) has lost \(lost) of \(ids.count)") }
        }
        found.faults += faults.map { "round \(found.rounds): \($0)" }
    }

    private func report(_ found: Found) {
        if arguments.has("json") {
            return Summary.print(
                seed: seed,
                [
                    ("rounds", found.rounds), ("promised", found.promised), ("lost", found.lost),
                    ("refused", found.refusals.values.reduce(0, +)),
                ], also: ["refusals": found.refusals], faults: found.faults)
        }
        print("\(found.rounds) rounds, \(found.promised) promises, \(found.lost) lost")
        for (what, count) in found.refusals.sorted(by: { $0.key < $1.key }) {
            print("  refused by the \(what): \(count)")
        }
        for fault in found.faults { print("FAULT \(fault)") }
    }
}

/// Somebody else on the same disk: takes what is left, and gives it back.
private final class Ballast: Sendable {
    private let isOver = LoopFlag()

    init(_ path: String, bytes: Int, seed: UInt64) {
        Thread { [isOver] in
            var random = SeededGenerator(seed: seed)
            while !isOver.isSet {
                let size = Int.random(in: 0...bytes, using: &random)
                try? Data(count: size).write(to: URL(fileURLWithPath: path))
                usleep(UInt32.random(in: 1_000...40_000, using: &random))
                unlink(path)
                usleep(UInt32.random(in: 1_000...20_000, using: &random))
            }
        }.start()
    }

    func end() { isOver.set() }
}
