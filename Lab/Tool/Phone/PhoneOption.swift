import ArgumentParser
import Foundation
import RepriseCore
import ReprisePhone

/// The phone, for every command that connects to one.
struct PhoneOption: ParsableArguments {
    @Option(
        name: .customLong("folder"),
        help: ArgumentHelp(
            "The phone's folder. (default: $REPRISE_PHONE_FOLDER, else reprise-phone)",
            valueName: "dir"))
    var given: String?
    @Flag(help: "Print JSON, an object a line.") var json = false

    var folder: PhoneFolder {
        let path =
            given ?? ProcessInfo.processInfo.environment["REPRISE_PHONE_FOLDER"] ?? "reprise-phone"
        return PhoneFolder(URL(fileURLWithPath: path))
    }

    /// Connects to the phone.
    ///
    /// - Throws: ``RepriseError`` `.unreachable` with the remedy if none runs there; what `body`
    ///   throws.
    func talk<T>(_ body: (PhoneControl) async throws -> T) async throws -> T {
        let phone: PhoneControl
        do {
            phone = try await PhoneControl.connect(to: folder)
        } catch let error as RepriseError where error.code == .unreachable {
            throw RepriseError(
                .unreachable, "No phone runs in \(folder.url.path).",
                remedy: "Start one with `reprise-lab phone run --folder DIR`.")
        }
        defer { phone.close() }
        do {
            return try await body(phone)
        } catch let error as RepriseError where error.code == .closed {
            throw RepriseError(
                .unavailable, "The phone has ended; it may have been done or not.",
                remedy: "Start it again with `reprise-lab phone run`; it remembers everything.")
        }
    }

    /// Sends a command to the phone, and shows its events so far.
    func perform(_ command: PhoneCommand) async throws {
        try await talk { phone in
            let before = try await phone.status().lastEvent
            try await phone.ask(command)
            // All that a command sets off at once is logged before it is answered.
            try PhoneTimeline(isJSON: json).write(await phone.log(since: before))
        }
    }
}

/// Which phone, and which app on it.
struct PhoneAppOption: ParsableArguments {
    @Option(help: ArgumentHelp("The app; may be left out while one is installed.")) var app: String?
    @OptionGroup var phone: PhoneOption

    func perform(_ command: PhoneCommand) async throws { try await phone.perform(command) }
}
