import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The first device of `case-catch-up`, on the same wire and with the same effect as ours.
struct NaiveDevice: Sendable {
    let server: String
    let dialer: any SocketDialer
    let channel: ChannelName
    let effects: EffectFile

    /// The state that a kill loses.
    private struct Memory {
        var state = NaiveDeviceState()
        var epoch: Epoch?
        var hasAnnounced = false
    }

    /// Listens until the task is cancelled.
    func run() async throws {
        var memory = Memory()
        while true {
            try Task.checkCancellation()
            do {
                let connection = try await WireConnection.open(server, dialer: dialer)
                try await listen(connection, &memory)
            } catch is CancellationError {
                return
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                // "Connection lost: Graceful reconnect"
                try await Task.sleep(for: .milliseconds(300))
            }
        }
    }

    private func listen(_ connection: WireConnection, _ memory: inout Memory) async throws {
        memory.hasAnnounced = false
        let position = Coverage(through: memory.state.subscribing())
        let subscription = ClientFrame.Subscription(
            channel: channel, epoch: memory.epoch, coverage: position)
        do {
            try await connection.send([ClientFrame.subscribe([subscription]).encoded()])
            try await connection.read { buffer in try handle(buffer, &memory) }
        } catch {
            await connection.close()
            throw error
        }
    }

    private func handle(_ buffer: [ServerFrame], _ memory: inout Memory) throws {
        for frame in buffer {
            switch frame {
            case .event(let event) where memory.state.accepts(event.seq):
                try effects.append(seq: event.seq, id: event.id, attempt: 1)
            case .subscribed(let subscribed):
                memory.epoch = subscribed.epoch
                // Not part of the algorithm: so that the demo knows.
                if !memory.hasAnnounced { try StandardOutput.write(DeviceWord.listening.rawValue) }
                memory.hasAnnounced = true
            // The first version knew no word for the end of catching up: "Prepare your backend to
            // send this".
            default: break
            }
        }
        memory.state.bufferEmptied()
    }
}
