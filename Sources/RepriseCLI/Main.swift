import ArgumentParser
import Foundation
import RepriseCore

/// Parses, runs, and turns every error into one line and an exit code.
@main
enum Main {
    static func main() async {
        // A reader that has gone is an error of `write`, which the commands end on quietly, not the
        // end of the process.
        signal(SIGPIPE, SIG_IGN)
        if CommandLine.arguments.dropFirst().first == ServeCommand.configuration.commandName {
            EndingSignals.begin()
        }
        LogOutput.begin()
        do {
            var command = try RepriseCommand.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(error)
        }
    }

    private static func end(_ error: any Error) -> Never {
        switch error {
        case is BrokenPipe: exit(ExitStatus.success.rawValue)
        case let code as ExitCode: exit(code.rawValue)
        case let error as RepriseError: fail(error.line, ExitStatus(error.code))
        case let error as CommandFailure: fail(error.message, error.status)
        default: break
        }
        guard RepriseCommand.exitCode(for: error) != .success else {
            // Help and version are what was asked for, not a failure.
            try? StandardOutput.write(RepriseCommand.fullMessage(for: error))
            exit(ExitStatus.success.rawValue)
        }
        guard RepriseCommand.exitCode(for: error) == .validationFailure else {
            fail("\(error)".firstLine, .internal)
        }
        let message =
            CommandNames.complaint(about: CommandLine.arguments.dropFirst().first)
            ?? RepriseCommand.message(for: error).firstLine
        let end = message.hasSuffix(".") || message.hasSuffix("?") ? "" : "."
        fail("\(message)\(end) See `\(helpCommand)`.", .usage)
    }

    /// The help that belongs to what was typed.
    private static var helpCommand: String {
        let names = RepriseCommand.configuration.subcommands.map { $0.configuration.commandName }
        let words = CommandLine.arguments.dropFirst()
        let name = words.first.flatMap { names.contains($0) ? $0 : nil }
        let second = name == "phone" || name == "chains" ? words.dropFirst().first : nil
        let inners = name == "phone" ? PhoneToolCommand.names : ChainsCommand.names
        let inner = second.flatMap { inners.contains($0) ? $0 : nil }
        return ["reprise", name, inner, "--help"].compactMap(\.self).joined(separator: " ")
    }

    private static func fail(_ line: String, _ status: ExitStatus) -> Never {
        Terminal.error.writeLine("reprise: " + line)
        exit(status.rawValue)
    }
}

extension RepriseError {
    /// The error and its remedy, on one line.
    ///
    /// Without the cause, which is for a log and often many lines.
    var line: String { ([message] + [remedy].compactMap(\.self)).joined(separator: " ").firstLine }
}

extension String {
    /// The text as one line, harmless to a terminal.
    var firstLine: String {
        split(whereSeparator: \.isNewline).map { String($0) }.joined(separator: " ").printable
    }
}
