import Foundation
import RepriseCore

/// `crash-loop kills`: rounds until so many were killed, or the time is up, or something is lost.
struct KillLoop: Sendable {
    /// How many are killed in a round before everybody may rest.
    private static let killsARound = 120

    private let seed: UInt64
    private let kills: Int
    private let deadline: ContinuousClock.Instant?
    private let devices: Int
    private let timeout: Duration
    private let isJSON: Bool
    private let start = ContinuousClock.now

    init(_ arguments: Arguments) throws {
        seed = try arguments.seed()
        let minutes: Double? = try arguments.number("minutes")
        deadline = minutes.map { .now + .seconds($0 * 60) }
        kills = try arguments.number("kills") ?? (minutes == nil ? 200 : .max)
        devices = max(1, try arguments.number("devices") ?? 3)
        timeout = .seconds(try arguments.number("patience") ?? 60)
        isJSON = arguments.has("json")
        if let name = arguments.text("mutation") {
            guard LoopMutation(rawValue: name) != nil else {
                let names = LoopMutation.allCases.map(\.rawValue).joined(separator: ", ")
                throw Arguments.Misuse(description: "The mutations are \(names).")
            }
            // For the children that are started from now on; this process does not look at it.
            setenv(LoopMutation.variable, name, 1)
        }
    }

    func run() async throws {
        complain("seed \(seed)")
        var total = Round.Result()
        var number: UInt64 = 0
        while total.killCount < kills, total.faults.isEmpty {
            if let deadline, ContinuousClock.now > deadline { break }
            let round = Round(
                seed: seed &+ number &* 1_000_003, devices: devices,
                kills: min(Self.killsARound, kills - total.killCount), deadline: deadline,
                timeout: timeout)
            total.add(try await round.run())
            number += 1
            complain("round \(number): \(progress(total))")
        }
        report(total)
        exit(total.faults.isEmpty ? 0 : 1)
    }

    private var seconds: Double { (.now - start) / .seconds(1) }

    private func progress(_ total: Round.Result) -> String {
        let time = String(format: "%.0f s", seconds)
        return "\(total.killCount) kills in \(time), \(total.promised) messages and "
            + "\(total.spooled) spooled, \(total.readings) ledgers read, "
            + "\(total.repeats) repeated, \(total.unconfirmed) unconfirmed"
    }

    private func report(_ total: Round.Result) {
        if isJSON {
            Summary.print(
                seed: seed,
                [
                    ("killCount", total.killCount), ("promised", total.promised),
                    ("spooled", total.spooled), ("ledgersRead", total.readings),
                    ("repeated", total.repeats), ("unconfirmed", total.unconfirmed),
                    ("seconds", Int(seconds)), ("devices", devices),
                ], also: ["kills": total.kills], faults: total.faults)
        } else {
            print(progress(total))
            for (what, count) in total.kills.sorted(by: { $0.key < $1.key }) {
                print("  killed \(what): \(count)")
            }
            for fault in total.faults { print("FAULT \(fault)") }
            print(total.faults.isEmpty ? "nothing was lost" : "seed \(seed): see above")
        }
    }
}
