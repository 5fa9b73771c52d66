import ArgumentParser
import Foundation
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseWire

/// `reprise-lab device`: one of the demo's devices, a process that can be killed.
///
/// Not for people.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "A device for the demo.", shouldDisplay: false)

    @Argument var channel: String
    @Option var server: String
    @Option var journal: String
    @Option var effects: String
    @Flag var naive = false

    func run() async throws {
        let name = try ChannelName(channel)
        let file = try EffectFile(effects)
        let device = self
        try StandardOutput.write(DeviceWord.ready.rawValue)
        _ = try await Interruption.cancelling {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await InputWatch.untilEnd() }
                group.addTask {
                    if device.naive {
                        try await NaiveDevice(
                            server: device.server, dialer: NIODialer(), channel: name, effects: file
                        ).run()
                    } else {
                        try await device.listen(name, file)
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    /// The same effect twice: outside the journal, where a kill may repeat it, and inside, where it
    /// cannot.
    private func listen(_ name: ChannelName, _ file: EffectFile) async throws {
        var configuration = Reprise.Configuration()
        configuration.schemas = [SinkTable.schema]
        let reprise = try await Reprise.open(
            at: URL(fileURLWithPath: journal), server: server, dialer: NIODialer(),
            configuration: configuration)
        let channel = try reprise.channel(name.text)
        try await channel.read("file") { message in
            try file.append(seq: message.seq, id: message.id, attempt: message.attempt)
        }
        try await channel.read("sink", inTransaction: SinkTable.insert)
        let announcing = Task { await announce(channel.states) }
        defer { announcing.cancel() }
        do {
            try await reprise.run()
        } catch {
            await reprise.close()
            throw error
        }
        await reprise.close()
    }

    private func announce(_ states: AsyncStream<ChannelState>) async {
        var isWaiting = true
        for await state in states {
            switch state {
            case .closed, .subscribing: isWaiting = true
            default:
                if isWaiting { try? StandardOutput.write(DeviceWord.listening.rawValue) }
                isWaiting = false
            }
        }
    }
}
