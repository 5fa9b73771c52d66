// A process to be killed: starts one chain, or goes on with it, and ends when that has.
//
//   ChainRunner FOLDER FILE steps|parallel|deciding|hanging|waiting COUNT MILLISECONDS [takeover]
//   ChainRunner FOLDER FILE ticking COUNT MILLISECONDS
//
// Prints "open", then "ended STATE"; its workers append to FILE. With "ticking" it prints what
// became of the schedule, and runs until it is killed.

import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal

/// A line at once: standard output is a pipe.
func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

let arguments = CommandLine.arguments
guard arguments.count >= 6, let count = Int(arguments[4]), let milliseconds = Int(arguments[5])
else {
    exit(64)
}
let input = RunnerInput(count: count, milliseconds: milliseconds)
var configuration = Chains.Configuration()
configuration.chains = [steps, parallel, deciding, hanging, waiting, ticking]
configuration.workers = [try Append(arguments[2])]
configuration.jitter = { 0 }
var settings = Journal.Configuration()
settings.takeOver = arguments.contains("takeover")
settings.busyTimeout = .milliseconds(200)
if arguments[3] == "ticking" {
    configuration.timekeeper = FastClock()
    settings.timekeeper = FastClock()
}
/// Starts so many chains that wait, unless they are there; says so when they do, and stays.
func stay(_ chains: Chains, _ count: Int, _ journal: Journal) async throws -> Never {
    if try await chains.list(limit: 1).isEmpty {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for partitionKey in 0..<50 {
                group.addTask {
                    for _ in 0..<count / 50 + (partitionKey < count % 50 ? 1 : 0) {
                        try await chains.start(waiting, input: RunnerInput(count: 0))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
    let run = Task { try await chains.run() }
    while try await journal.ledger().pending > count {
        try await Task.sleep(for: .milliseconds(300))
    }
    say("waiting")
    try await run.value
    exit(0)
}

/// Runs a chain every 15 minutes by its clock.
func tick(_ chains: Chains, _ input: RunnerInput) async throws -> Never {
    let change = try await chains.schedule(
        ticking, input: input, name: "ticking", runs: .every(.seconds(900)))
    say("\(change)")
    try await chains.run()
    exit(0)
}

do {
    let journal = try await Journal.open(
        at: URL(fileURLWithPath: arguments[1]), kinds: Chains.kinds(configuration),
        schemas: [Chains.schema], configuration: settings)
    say("open")
    let chains = Chains(journal: journal, configuration: configuration)
    if arguments[3] == "waiting" { try await stay(chains, count, journal) }
    if arguments[3] == "ticking" { try await tick(chains, input) }
    var id = try await chains.list(limit: 1).first?.id
    if id == nil {
        switch arguments[3] {
        case "steps": id = try await chains.start(steps, input: input, name: "main")
        case "parallel": id = try await chains.start(parallel, input: input, name: "main")
        case "deciding": id = try await chains.start(deciding, input: input, name: "main")
        case "hanging": id = try await chains.start(hanging, input: input, name: "main")
        default: exit(64)
        }
    }
    guard let id else { exit(70) }
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await chains.run() }
        group.addTask {
            for await progress in chains.progress(of: id) where progress.state.isEnd {
                say("ended \(progress.state)")
            }
        }
        // The chain has ended, or the journal is ours no more.
        try await group.next()
        group.cancelAll()
    }
    await journal.close()
} catch let error as RepriseError {
    say("error \(error.code)")
    exit(75)
}
