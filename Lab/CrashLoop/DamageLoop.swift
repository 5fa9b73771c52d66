import Foundation
import RepriseCore
import RepriseTesting
import Synchronization

/// `crash-loop damage`: damages journals and logs at random and opens them.
///
/// The opening is done by child processes, so that bytes which crash or hang one are found, named
/// by their seed, and do not end the search.
struct DamageLoop: Sendable {
    private static let timeout = 60.0

    private let seed: UInt64
    private let count: Int
    private let isJSON: Bool

    init(_ arguments: Arguments) throws {
        seed = try arguments.seed()
        count = try arguments.number("seeds") ?? 300
        isJSON = arguments.has("json")
    }

    func run() async throws {
        complain("seed \(seed)")
        let folder = try TemporaryFolder()
        try await DamageTemplates(folder.url).make()
        var (faults, outcomes) = ([String](), [String: Int]())
        var next = seed
        while next < seed + UInt64(count) {
            let child = try ChildProcess(
                .sibling("crash-loop"),
                [
                    "damaged", "--folder", folder.url.path, "--seed", "\(next)",
                    "--seeds", "\(seed + UInt64(count) - next)",
                ])
            let watch = HangWatch(child, timeout: Self.timeout)
            while let line = child.readLine() {
                watch.pet()
                let words = line.split(separator: " ", maxSplits: 2).map(String.init)
                guard words.count == 3 else { continue }
                switch words[0] {
                case "done": outcomes[words[2], default: 0] += 1
                case "fault": faults.append("seed \(words[1]): \(words[2])")
                default: continue
                }
                if words[0] == "done" { next = (UInt64(words[1]) ?? next) + 1 }
            }
            watch.end()
            let ending = child.wait()
            if ending != .exit(0) {
                faults.append("seed \(next): the process ended with \(ending)")
                next += 1
            }
        }
        report(faults, outcomes)
        exit(faults.isEmpty ? 0 : 1)
    }

    private func report(_ faults: [String], _ outcomes: [String: Int]) {
        if isJSON {
            return Summary.print(
                seed: seed, [("seeds", count)], also: ["outcomes": outcomes], faults: faults)
        }
        for (outcome, count) in outcomes.sorted(by: { $0.key < $1.key }) {
            print("\(String(count).leftPadded(6))  \(outcome)")
        }
        for fault in faults { print("FAULT \(fault)") }
    }
}

extension String {
    fileprivate func leftPadded(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}

/// Kills a child that says nothing for too long.
private final class HangWatch: Sendable {
    private let lastSign = Atomic(ContinuousClock.now)

    init(_ child: ChildProcess, timeout: Double) {
        Thread { [lastSign] in
            while let last = lastSign.value {
                if .now - last > .seconds(timeout) { child.signal(SIGKILL) }
                Thread.sleep(forTimeInterval: 0.2)
            }
        }.start()
    }

    func pet() { lastSign.value = .now }
    func end() { lastSign.value = nil }

    private final class Atomic: Sendable {
        private let box: Mutex<ContinuousClock.Instant?>

        init(_ value: ContinuousClock.Instant) { box = Mutex(value) }

        var value: ContinuousClock.Instant? {
            get { box.withLock { $0 } }
            set { box.withLock { $0 = newValue } }
        }
    }
}
