import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// `reprise-lab phone run`: a phone, in the foreground.
struct PhoneRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a phone, and print what happens on it.",
        usage: """
            reprise-lab phone run [--rule NAME=VALUE …] [--port PORT] [--quiet]
                                  [--folder DIR] [--json]
            """,
        discussion: """
            Ends with SIGTERM or SIGINT, or `reprise-lab phone shutdown`, and ends its
            apps. Killed with SIGKILL it is a phone whose battery was taken out: started
            again in the same folder it remembers all that a device remembers, and its
            apps are dead.

            Pushes are taken over HTTP on a port of this machine, as APNs takes them. A
            phone keeps its port while it is free.

            EXAMPLES
              reprise-lab phone run
              reprise-lab phone run --folder ./phone --rule zeroBadge=leavesDelivered
              reprise-lab phone run --json | jq -r 'select(.what == "banner") | .detail'

            EXIT CODES
              0 ended; 75 a phone runs there, or the port is taken; 77 no permission;
              78 no such rule, or the path is too long. All: reprise-lab --help
            """)

    @Option(
        help: ArgumentHelp(
            "A rule to follow; see `reprise-lab phone rules`.", valueName: "name=value"))
    var rule: [String] = []
    @Option(help: ArgumentHelp("The port for pushes; 0 takes a free one. (default: as before)"))
    var port: Int?
    @Flag(help: "Print nothing but the first line.") var quiet = false
    @Flag(help: .hidden) var untilInputEnds = false
    @OptionGroup var phone: PhoneOption

    func validate() throws {
        guard port.map({ (0...65_535).contains($0) }) ?? true else {
            throw ValidationError("--port is 0 to 65535.")
        }
    }

    func run() async throws {
        // A misspelt rule is said before anything is started.
        _ = try PhoneRules().changed(by: rule)
        let folder = phone.folder
        _ = try await Interruption.cancelling {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (ready, isReady) = AsyncStream<Void>.makeStream(
                    bufferingPolicy: .bufferingNewest(1))
                group.addTask {
                    try await PhoneSupervisor.run(in: folder) { isReady.yield() }
                }
                group.addTask {
                    for await _ in ready {
                        try await serve(folder)
                        return
                    }
                }
                if untilInputEnds { group.addTask { await InputWatch.untilEnd() } }
                // Whichever ends first ends the others: the phone, the reader of the output, the
                // input.
                defer { group.cancelAll() }
                do { try await group.next() } catch is CancellationError {}
            }
        }
    }

    /// The endpoint for pushes and the timeline, once the phone listens; until it ends.
    private func serve(_ folder: PhoneFolder) async throws {
        let control = try await PhoneControl.connect(to: folder)
        defer { control.close() }
        let status = try await control.status()
        let rules = try status.rules.changed(by: rule)
        if rules != status.rules { try await control.ask(.rules(rules)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (ready, isReady) = AsyncStream<PushEndpoint.Address>.makeStream(
                bufferingPolicy: .bufferingNewest(1))
            group.addTask {
                try await PushEndpoint(folder: folder, port: port).run { isReady.yield($0) }
            }
            group.addTask {
                for await address in ready {
                    try announce(address, folder)
                    break
                }
                try await follow(control, after: status.lastEvent)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func announce(_ address: PushEndpoint.Address, _ folder: PhoneFolder) throws {
        guard phone.json else {
            return try StandardOutput.write(
                "Phone is ready in \(folder.url.path), pushes at \(address.url)")
        }
        struct Line: Encodable {
            let folder: String
            let pushes: String
        }
        let line = Line(folder: folder.url.path, pushes: address.url)
        try StandardOutput.write(PhoneJSON.encode(line) + [UInt8(ascii: "\n")])
    }

    private func follow(_ control: PhoneControl, after event: Int) async throws {
        let timeline = PhoneTimeline(isJSON: phone.json)
        var last = event
        while !Task.isCancelled {
            let events: [PhoneEvent]
            do {
                events = try await control.log(since: last, wait: .seconds(30))
            } catch let error as RepriseError where error.code == .closed {
                return  // The phone has ended.
            }
            if !quiet { try timeline.write(events) }
            last = events.last?.number ?? last
        }
    }
}
