import ArgumentParser
import Foundation
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseTesting
import RepriseWire

/// The devices of `reprise-lab demo kill` and `catch-up`.
enum DemoDeviceRole: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// The original app of `case-catch-up`, with its position in memory alone.
    case naive
    /// The original app as it froze, before its repair.
    case first
    /// The same after its repair.
    case repaired
    /// The same, with a backend that says when a catch-up is over.
    case signalled
    case reprise

    /// The file outside of any journal that it writes for a channel.
    func effects(of channel: String, in folder: URL) -> String {
        folder.appendingPathComponent("\(rawValue).\(channel).effects").path
    }
}

/// A line of a device's output.
enum DeviceWord: String, Sendable {
    /// It connects at a line of input.
    case ready
    /// It has no answer of the server.
    case waiting
    /// The server has answered it, and it does not have everything.
    case catchingUp = "catching-up"
    /// It takes itself to have everything.
    case complete
    /// It waits for events that never come.
    case frozen

    @Sendable func say() { try? StandardOutput.write(rawValue) }
}

/// `reprise-lab device`: a device of a demo, a process that can be killed.
///
/// Not for people.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "A device for the demo.",
        usage: """
            reprise-lab device CHANNEL … --server URL --folder DIR --role ROLE
                               [--streams SEED] [--speed FACTOR]
            """,
        discussion: """
            A process that `demo kill` and `demo catch-up` start and kill. It says `ready`,
            connects at a line of its input, and ends with it.

            EXAMPLES
              echo | reprise-lab device general --server http://127.0.0.1:8080 \\
                         --folder ./device --role reprise

            EXIT CODES
              0 its input has ended, or a signal came; 69 no server.
              All: reprise-lab --help
            """, shouldDisplay: false)

    @Argument(help: "The channels that it reads.") var channels: [String]
    @Option(help: .appServer) var server: String
    @Option(help: "The folder for its journal and its effects.") var folder: String
    @Option(help: "How it remembers its position.") var role: DemoDeviceRole
    @Option(help: "Backlogs come in parallel streams, with pauses drawn from this seed.")
    var streams: UInt64?
    @Option(help: "The speed-up of an original client's clock.") var speed = 1.0

    private var place: URL { URL(fileURLWithPath: folder) }
    private var dialer: any SocketDialer {
        streams.map { ParallelStreams(dialer: NIODialer(), seed: $0, standsStill: true) }
            ?? NIODialer()
    }

    /// The journal of the device with Reprise.
    static func journal(in folder: URL) -> URL { folder.appendingPathComponent("journal") }

    func run() async throws {
        let names = try channels.map { try ChannelName($0) }
        let device = self
        let go = Signal()
        _ = try await Interruption.cancelling {
            try await untilOneEnds(
                {
                    let reader = InputLineReader(descriptor: STDIN_FILENO)
                    while try await reader.next() != nil { go.raise() }
                },
                {
                    if device.role == .reprise {
                        try await device.listen(names, after: go)
                    } else {
                        try await device.listenAsOriginal(names, after: go)
                    }
                })
        }
    }

    private func listenAsOriginal(_ names: [ChannelName], after go: Signal) async throws {
        let device = try OriginalDevice(
            role, names, in: place, server: server, dialer: dialer, speed: speed)
        DeviceWord.ready.say()
        await go.wait()
        try await device.run()
    }

    /// With the SDK.
    private func listen(_ names: [ChannelName], after go: Signal) async throws {
        var configuration = AccountClient.Configuration()
        configuration.schemas = [SinkTable.schema]
        let reprise = try await AccountClient.open(
            at: Self.journal(in: place), server: server, dialer: dialer,
            configuration: configuration)
        for name in names { try await read(reprise.channel(name.text), of: name) }
        DeviceWord.ready.say()
        await go.wait()
        let announcing = Task { try await announce(names, of: reprise) }
        defer { announcing.cancel() }
        do { try await reprise.run() } catch {
            await reprise.close()
            throw error
        }
        await reprise.close()
    }

    /// Reads with an effect: a line in a file.
    ///
    /// With streams the file knows which ids it has, so that it is
    /// exactly once; without, it is there twice: outside the journal, where a kill may repeat it,
    /// and inside, where it cannot.
    private func read(_ channel: Channel, of name: ChannelName) async throws {
        let path = role.effects(of: name.text, in: place)
        let file = try LineFile(effects: path)
        guard streams != nil else {
            try await channel.read("file") { message in
                file.append(seq: message.seq, id: message.id, attempt: message.attempt)
            }
            return try await channel.read("sink", inTransaction: SinkTable.insert)
        }
        var log = EffectLog(path)
        try log.update()
        let applied = Shared(log.ids)
        try await channel.read(
            "file", isApplied: { id in applied.update { $0.contains(id) } },
            handler: { message in
                file.append(seq: message.seq, id: message.id, attempt: message.attempt)
                applied.update { _ = $0.insert(message.id) }
            })
    }

    /// Says what all channels have come to, whenever that changes.
    private func announce(_ names: [ChannelName], of reprise: AccountClient) async throws {
        let states = Shared(ChannelStates(names))
        try await untilAllEnd(names) { name in
            for await state in try reprise.channel(name.text).states {
                states.update { $0.set(state, of: name) }
            }
        }
    }
}

/// What all channels of a device have come to.
private struct ChannelStates {
    private var channels: [ChannelName: ChannelState]
    private var said: DeviceWord?

    init(_ names: [ChannelName]) {
        channels = Dictionary(uniqueKeysWithValues: names.map { ($0, .closed) })
    }

    /// Says it where it has changed.
    mutating func set(_ new: ChannelState, of name: ChannelName) {
        channels[name] = new
        let isWaiting = channels.values.contains { $0 == .closed || $0 == .subscribing }
        let isLive = channels.values.allSatisfy { $0 == .live }
        let word: DeviceWord = isWaiting ? .waiting : isLive ? .complete : .catchingUp
        guard word != said else { return }
        // The server has answered, even if nothing was missing.
        if said == .waiting, word == .complete { DeviceWord.catchingUp.say() }
        word.say()
        said = word
    }
}
