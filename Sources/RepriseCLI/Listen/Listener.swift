import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// Reads channels into a printer until there is a reason to end.
struct Listener: Sendable {
    /// The reader's name in the journal: the same in every run, because its position hangs on it.
    static let reader = "listen"

    /// How often it looks whether a message still waits for another attempt.
    private static let look = Duration.milliseconds(20)

    private static let needsPerson: [RepriseError.Code] = [.diskFull, .diskFailed, .notWritable]

    let reprise: AccountClient
    let server: String
    let channels: [String]
    let printer: MessagePrinter
    let untilComplete: Bool
    let waitsForServer: Bool

    /// Why a task of the group has ended the whole.
    private enum End { case complete, cancelled }

    /// Runs until everything is printed, the output is closed, or the task is cancelled.
    ///
    /// - Returns: whether everything was printed.
    /// - Throws: ``BrokenPipe``; ``CommandFailure`` if the output fails; ``RepriseError``.
    func run() async throws -> Bool {
        let output = OutputFailure()
        let watches = try channels.map {
            ChannelWatch(try reprise.channel($0), asksAgain: waitsForServer)
        }
        do {
            try await read(watches.map(\.channel), into: output)
        } catch is CancellationError {
            return false
        }
        return try await withThrowingTaskGroup(of: End?.self) { group in
            group.addTask {
                try await reprise.run()
                return .cancelled
            }
            group.addTask {
                try await output.wait()
                return .cancelled
            }
            group.addTask {
                try await watch()
                return nil
            }
            for watch in watches {
                group.addTask {
                    try await watch.run()
                    return nil
                }
            }
            if untilComplete { group.addTask { try await complete(watches, output) } }
            while let end = try await group.next() {
                switch end {
                case nil: continue
                case .complete: return finish(&group, true)
                case .cancelled: return finish(&group, false)
                }
            }
            return false
        }
    }

    private func read(_ channels: [Channel], into output: OutputFailure) async throws {
        for channel in channels {
            // The output's failure is none of the message: it never becomes a dead letter.
            let options = ReaderOptions(attemptLimit: .max)
            try await channel.read(Self.reader, options: options) { message in
                try await output.ends { try printer.print(message) }
            }
            try await retryFailures(in: channel)
        }
    }

    private func finish(_ group: inout ThrowingTaskGroup<End?, any Error>, _ isComplete: Bool)
        -> Bool
    {
        group.cancelAll()
        return isComplete
    }

    private func complete(_ watches: [ChannelWatch], _ output: OutputFailure) async throws -> End {
        do {
            for watch in watches {
                try await caughtUp(watch.channel)
                // That does not wait for a message that awaits another attempt.
                while try await failures(in: watch.channel)
                    .contains(where: { $0.status == .waiting })
                {
                    try await Task.sleep(for: Self.look)
                }
                await watch.live.wait()
                try Task.checkCancellation()
            }
            if let error = output.error { throw error }
            return .complete
        } catch is CancellationError {
            return .cancelled
        }
    }

    private func caughtUp(_ channel: Channel) async throws {
        while true {
            do {
                return try await channel.caughtUp()
            } catch let error as RepriseError where error.code == .refused {
                // The channel's watch ends the command, or asks for it again.
                try await Task.sleep(for: Self.look)
            }
        }
    }

    /// Prints at once what an earlier run could not print, also what it has given up.
    private func retryFailures(in channel: Channel) async throws {
        for failed in try await failures(in: channel) {
            do {
                try await channel.retry(failed.message.id, reader: Self.reader)
            } catch let error as RepriseError where error.code == .noSuchEntry {
                // The id of a damaged message cannot be read; it stays a dead letter.
            }
        }
    }

    private func failures(in channel: Channel) async throws -> [FailedMessage] {
        try await channel.failures(of: Self.reader, limit: 1_000)
    }

    /// Fails where a person must act: the disk is full, or no server has answered in this run.
    /// (Then the address is likely wrong; later it retries without limit.)
    private func watch() async throws {
        var waits = waitsForServer
        for await state in reprise.channels.connectionStates {
            switch state {
            case .connected: waits = true
            case .stuck(let error) where Self.needsPerson.contains(error.code): throw error
            case .waiting(_, let reason) where !waits: throw unwelcome(reason.failure)
            case .stopped(let reason): throw reason.failure
            case .idle, .connecting, .expiring, .offline, .suspended, .waiting, .stuck: continue
            }
        }
    }

    /// Why the server has not welcomed this device, with the address and a remedy.
    private func unwelcome(_ error: RepriseError) -> RepriseError {
        guard error.remedy == nil else { return error }
        return RepriseError(
            error.code, "The server at \(server) does not welcome this device. \(error.message)",
            remedy: "Look at its log; --wait goes on trying.")
    }
}

extension Disconnection {
    /// The error with its remedy.
    var failure: RepriseError {
        // The server's text repeats the code.
        switch closeCode {
        case .unauthorized?, .tokenExpired?:
            return RepriseError(
                .unauthorized, "The server asks for a token.",
                remedy: "Give --token, or --as with a --dev server.")
        case let code? where code.advice == .stop:
            return RepriseError(
                .refused, description,
                remedy: "Check that tool and server are of the same version.")
        case _:
            return error ?? RepriseError(.unavailable, description, remedy: description.retryRemedy)
        }
    }
}
