package import ArgumentParser
import Foundation
import RepriseCore

/// Runs a tool: parses its arguments, and turns every error into one line and an exit code.
package enum CommandMain {
    package static func run<Root: AsyncParsableCommand>(_ root: Root.Type) async {
        StandardDescriptors.hold()
        // A closed pipe is an error of `write`, which ends a command without a message, and not the
        // end of the process.
        signal(SIGPIPE, SIG_IGN)
        LogOutput.begin()
        if let place = unreadableArgument {
            fail(
                root,
                "Argument \(place) is not UTF-8. Convert it, for instance with iconv -t UTF-8.",
                .badInput)
        }
        do {
            var command = try root.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(error, root)
        }
    }

    /// The place of the first argument that is not UTF-8.
    ///
    /// `CommandLine.arguments` has another text in its place, which would be stored.
    private static var unreadableArgument: Int? {
        (1..<max(Int(CommandLine.argc), 1)).first { place in
            guard let argument = CommandLine.unsafeArgv[place] else { return false }
            let start = UnsafeRawPointer(argument)
            let count = (0...).first { start.load(fromByteOffset: $0, as: UInt8.self) == 0 }
            let bytes = UnsafeRawBufferPointer(start: start, count: count ?? 0)
            return String(validating: bytes, as: UTF8.self) == nil
        }
    }

    /// Ends the process for a call that the tool `root` does not understand.
    ///
    /// - Parameters:
    ///   - root: the tool.
    ///   - message: a sentence.
    ///   - help: the command whose help says more.
    package static func misused(
        _ root: any ParsableCommand.Type, _ message: String, help: String
    ) -> Never {
        fail(root, "\(message) See `\(help) --help`.", .usage)
    }

    private static func end<Root: AsyncParsableCommand>(
        _ error: any Error, _ root: Root.Type
    ) -> Never {
        switch error {
        case is BrokenPipe: exit(ExitStatus.success.rawValue)
        case let code as ExitCode: exit(code.rawValue)
        case let error as RepriseError: fail(root, error.line, ExitStatus(error.code))
        case let error as CommandFailure: fail(root, error.message.firstLine, error.status)
        default: break
        }
        let words = CommandLine.arguments.dropFirst()
        guard root.exitCode(for: error) != .success else {
            let topic = words.dropFirst()
            if words.first == "help", let message = CommandNames.complaint(about: topic, in: root) {
                misused(root, message, help: CommandNames.path(of: topic, in: root))
            }
            // Help and version are what was asked for, not a failure.
            try? StandardOutput.write(root.fullMessage(for: error))
            exit(ExitStatus.success.rawValue)
        }
        guard root.exitCode(for: error) == .validationFailure else {
            fail(root, "\(error)".firstLine, .internal)
        }
        let message =
            CommandNames.complaint(about: words, in: root)
            ?? ValueForm.completed(root.message(for: error)).firstLine
        let end = message.hasSuffix(".") || message.hasSuffix("?") ? "" : "."
        misused(root, message + end, help: CommandNames.path(of: words, in: root))
    }

    private static func fail(
        _ root: any ParsableCommand.Type, _ line: String, _ status: ExitStatus
    ) -> Never {
        Terminal.error.writeLine("\(root.configuration.commandName ?? ""): \(line)")
        exit(status.rawValue)
    }
}

extension RepriseError {
    /// The error and its remedy, on one line.
    ///
    /// Without the cause, which is for a log and often many lines.
    package var line: String {
        ([message] + [remedy].compactMap(\.self)).joined(separator: " ").firstLine
    }
}

extension String {
    /// The text as one line, harmless to a terminal.
    package var firstLine: String {
        split(whereSeparator: \.isNewline).map { String($0) }.joined(separator: " ").printable
    }
}
