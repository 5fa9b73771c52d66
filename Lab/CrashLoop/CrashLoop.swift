import Foundation
import RepriseCore

/// Kills real processes until they have lost something, or the time is up.
///
///     crash-loop kills [--kills N | --minutes M] [--seed S] [--devices D]
///         [--mutation NAME] [--patience SECONDS] [--json]
///
///     crash-loop powerloss [--images N] [--seed S] [--unsafe bare|lying] [--probe] [--json]
///     crash-loop faults --kind fdatasync|pwrite64|full [--rounds N] [--seed S] [--probe] [--json]
///     crash-loop damage [--seeds N] [--seed S] [--json]
///
/// The other verbs are its own children. They live with the tests, and not in the tool that ships,
/// because they can be told to break the promises (``LoopMutation``).
@main
enum CrashLoop {
    static func main() async {
        if CommandLine.arguments.contains("--help") { return print(usage) }
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            switch arguments.verb {
            case "kills": try await KillLoop(arguments).run()
            case "powerloss": try await PowerLoss(arguments).run()
            case "damage": try await DamageLoop(arguments).run()
            case "damaged": try await DamagedRole(arguments).run()
            case "faults": try await DiskFaults(arguments).run()
            case "opening": try HalfOpenOwner(arguments).run()
            case "write": try await WriterRole(arguments).run()
            case "device": try await DeviceRole(arguments).run()
            case "server": try await ServerRole(arguments).run()
            default: throw Arguments.Misuse(description: "There is no verb \(arguments.verb).")
            }
        } catch let misuse as Arguments.Misuse {
            complain("\(misuse)")
            exit(64)
        } catch {
            complain("\(error)")
            exit(70)
        }
    }
}

/// What people may say; the other verbs are for its children.
private let usage = """
    Kills real processes, cuts the power and damages files, until something is
    lost or the time is up.

      crash-loop kills [--kills 200 | --minutes M] [--devices 3]
          [--patience SECONDS]
          [--mutation \(LoopMutation.allCases.map(\.rawValue).joined(separator: "|"))]
      crash-loop powerloss [--images N] [--unsafe bare|lying] [--probe]
      crash-loop faults --kind fdatasync|pwrite64|full [--rounds N] [--probe]
      crash-loop damage [--seeds N]

    All take --seed S, which each run prints, and --json. powerloss needs root on
    Linux.
    docs/reliability/processes.md says what each of them does.

    EXAMPLES
      crash-loop kills --minutes 1
      crash-loop damage --seeds 5 --seed 1

    EXIT CODES
      0 nothing was lost; 1 something was, and FAULT lines say what; 64 the
      arguments were not understood.
    """

/// Says something to people; never to programs.
func complain(_ text: String) {
    FileHandle.standardError.write(Data("crash-loop: \(text)\n".utf8))
}

/// The verb, and `--name value` or `--name` behind it.
struct Arguments: Sendable {
    struct Misuse: Error, CustomStringConvertible { let description: String }

    let verb: String
    private var options: [String: String] = [:]

    init(_ words: [String]) throws {
        guard let verb = words.first else {
            throw Misuse(description: "Name a verb: kills, powerloss or damage.")
        }
        self.verb = verb
        var rest = words.dropFirst()
        while let name = rest.popFirst() {
            guard name.hasPrefix("--") else {
                throw Misuse(description: "\(name) was not expected.")
            }
            let hasValue = rest.first.map { !$0.hasPrefix("--") } ?? false
            options[String(name.dropFirst(2))] = hasValue ? rest.popFirst() : ""
        }
    }

    func has(_ name: String) -> Bool { options[name] != nil }

    func text(_ name: String) -> String? { options[name] }

    func needed(_ name: String) throws -> String {
        guard let text = options[name] else { throw Misuse(description: "--\(name) is missing.") }
        return text
    }

    func number<Number: LosslessStringConvertible>(_ name: String) throws -> Number? {
        guard let text = options[name] else { return nil }
        guard let number = Number(text) else {
            throw Misuse(description: "--\(name) is a number, not \(text).")
        }
        return number
    }

    /// The seed given, or a new one.
    func seed() throws -> UInt64 { try number("seed") ?? UInt64.random(in: 0..<1_000_000) }
}
